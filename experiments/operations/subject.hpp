// What the program must know of an operation beside what reference/operation.hpp says of all: how outputs of its
// kernels are judged, how they are timed, and who else computes the same. A class for each kind of operation, in a file
// here, and a line in subject.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/families/variant.hpp"
#include "kernels/plan/machine.hpp"
#include "reference/backward/bounds.hpp"
#include "reference/operation.hpp"
#include "reference/truth.hpp"

namespace danaus {

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

// <y, dy> in double, and what of it the bias has.
struct AdjointProduct {
  double whole, of_bias = 0;
};

class Subject {
 public:
  virtual ~Subject() = default;

  // On the relative L2 error of an output by a plan of which this kernel has most of the work; of dk over what was
  // summed to it.
  virtual double bound(std::string_view output, const Variant& kernel, const Device& device) const = 0;
  // Of each output, and what errors are relative to where it is small.
  virtual std::vector<OutputBound> bounds(const Values& values, const Variant& kernel, const Device& device) const = 0;
  // Outputs in the units in which they are compared: as they are, but for what would hide behind larger numbers.
  virtual Values compared(const Values& inputs, Values outputs) const { return static_cast<void>(inputs), outputs; }
  // Which every gradient's with its own input must be; nothing where there are no gradients.
  virtual std::optional<AdjointProduct> product(const Values& values) const {
    return static_cast<void>(values), std::nullopt;
  }
  // What the truth is computed by, "fftw" or "direct", and what it may be off by itself.
  virtual std::string_view truth() const = 0;
  virtual double bound_of_truth() const = 0;

  // The first and the last of batch and channels and, with a fixed seed, others between, as many as are computed in
  // seconds.
  virtual SomeRows some_rows() const = 0;
  // Filters are noise of this deviation, so that outputs keep the scale of inputs; or, where noise is none, these.
  virtual double filter_deviation() const { return 1; }
  virtual Values filters() const { return {}; }
  // The norm of what was summed to an output's errors, over that of the output: 1 but for dk.
  virtual double size_of_sums(std::string_view output, const Values& inputs, const Values& outputs) const {
    return static_cast<void>(output), static_cast<void>(inputs), static_cast<void>(outputs), 1;
  }

  // What is computed, whatever was said about how; or as baselines take it, of the same values: filters in fp32,
  // samples of layers as well, rows [B, H, L].
  virtual Case however_computed(bool by_baseline) const = 0;
  // Why no kernel computes the case on the device; nothing where one does.
  virtual std::optional<std::string> obstacle(const Device& device) const = 0;
  // A convolution, or its gradients, with arrays of the same names that give the same outputs, for who computes such;
  // its filter may first have to be made (as_convolution.hpp). Throws std::invalid_argument where there is none.
  virtual Case as_convolution() const = 0;
};

// Throws std::invalid_argument, which begins with `who`, for an operation whose outputs are not judged here.
std::unique_ptr<const Subject> subject_of(const Case& asked, std::string_view who);

// Why no plan computes the case on the device; nothing where one does.
std::optional<std::string> plan_obstacle(const Case& asked, const Device& device);

// What subject.cpp chooses among: null where the case is of another operation.
std::unique_ptr<const Subject> convolution_subject(const Case& asked);
std::unique_ptr<const Subject> layer_subject(const Case& asked);
std::unique_ptr<const Subject> short_subject(const Case& asked);
std::unique_ptr<const Subject> state_subject(const Case& asked);

// Sizes that cases of every operation have.
struct Shape {
  std::int64_t batch, channels, length;  // of spectral layers the channels of u, and the points of its last axis
};
Shape shape_of(const Case& asked);
// The same case with another batch.
Case with_batch(const Case& asked, std::int64_t batch);

}  // namespace danaus
