// What the program knows of an operation beside reference/operation.hpp and reference/judge.hpp: how it is timed, and
// who else computes the same.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "kernels/plan/machine.hpp"
#include "reference/operation.hpp"
#include "reference/truth.hpp"

namespace danaus {

// Memory of a device, in the order of a case's arrays().
using DeviceArrays = std::array<void*, 12>;

// Numbers of an array that lie one behind the other.
struct Block {
  std::int64_t first, count;
};

// Some rows of a case that is too large to be checked whole.
struct SomeRows {
  Case asked;                              // the same case with only these rows
  std::vector<std::vector<Block>> places;  // where they are, in each of the case's arrays
  std::int64_t rows, of;                   // of y; of spectral layers items of the batch
};

// Sizes that cases of every operation have.
struct Shape {
  std::int64_t batch, channels, length;  // of spectral layers the channels of u, and the points of its last axis
};

class Subject {
 public:
  virtual ~Subject() = default;

  // The first and the last of batch and channels and, with a fixed seed, others between, as many as are computed in
  // seconds.
  virtual SomeRows some_rows() const = 0;
  // Filters are noise of this deviation, so that outputs keep the scale of inputs; or, where noise is none, these.
  virtual double filter_deviation() const { return 1; }
  virtual Values filters() const { return {}; }

  // What is computed, whatever was said about how; or as baselines take it, of the same values: filters in fp32,
  // samples of layers as well, rows [B, H, L].
  virtual Case however_computed(bool by_baseline) const = 0;
  // A convolution, or its gradients, with arrays of the same names that give the same outputs, for who computes such;
  // its filter may first have to be made (as_convolution.hpp). Throws std::invalid_argument where there is none.
  virtual Case as_convolution() const = 0;
  virtual Shape shape() const = 0;
};

// Throws std::invalid_argument, which begins with `who`, for an operation that is not timed.
std::unique_ptr<const Subject> subject_of(const Case& asked, std::string_view who);

// Throws std::invalid_argument where no kernel computes the case on the device.
void require_kernel(const Case& asked, const Device& device);
bool has_kernel_for(const Case& asked, const Device& device);

Shape shape_of(const Case& asked);
// The same case with another batch.
Case with_batch(const Case& asked, std::int64_t batch);

}  // namespace danaus
