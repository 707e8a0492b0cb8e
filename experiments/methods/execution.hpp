// A case of any operation, executed by a plan on a machine.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/plan/machine.hpp"
#include "reference/convolution/data.hpp"
#include "reference/judge.hpp"

namespace danaus {

// Numbers of f16, bf16 or f32 as they lie in memory.
std::vector<double> decoded_bytes(Dtype dtype, std::span<const std::byte> memory);

// Inputs and filters of the case with such data: u and k as the spec says, gates and dy Gaussian. Throws where
// another operation is to have other data than its own.
Values make_values(const Case& asked, const DataSpec& spec);

struct Execution {
  Values outputs;
  KnownNumbers known;
  std::string violation;  // whose guard, or whose input, was written
};
// Outputs begin as NaN. All memory stands between guards of NaN. `offsets`: of each of the case's arrays, in its
// samples from an address that is a multiple of 256 bytes; none: all 0. A filter begins there whatever its offset.
// `strides`: of each of the case's arrays; {0, 0}: contiguous. Nothing between rows may be written.
Execution execute(const Case& asked, const Values& values, const std::shared_ptr<const Machine>& machine,
                  std::span<const int> offsets = {}, std::span<const RowStrides> strides = {});

// Whether a plan on the machine computes the case, with kernels that this build has.
bool has_plan(const Case& asked, const std::shared_ptr<const Machine>& machine);

// What a plan leaves out of a case that removes frequencies, in words.
std::string planned_mask(const Case& asked, const Device& device);

// Factors of the FFT of the kernel that has most of the work; none without one.
std::vector<int> planned_factors(const Case& asked, const Device& device);

}  // namespace danaus
