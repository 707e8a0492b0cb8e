// Which kernel computes a case on a device.
#pragma once

#include <optional>
#include <span>

#include "kernels/families/variant.hpp"
#include "kernels/plan/live_blocks.hpp"

namespace danaus {

// The index into kDeviceClasses of the most that the device has room for. Throws where it has less than any.
int device_class_of(const Device& device);

// What a case leaves open is chosen here:
//   fold   circular cases whose L is an FFT size: pair; for single rows plain, if that has a kernel, else pair if they
//          have a mask. All others: right angle
//   N      L for pair and plain; the smallest that holds L for the right angle, L + K - 1 for a causal case by pairs
//   split  the preferred one, or another if only that fits the device
// Rows go in chunks (chunks.hpp) if N is less than L. They also do if all is open, L is longer than a fused kernel's N,
// and K is so short that chunks take less time by what they move and compute.
// Whether this build has the kernel is not asked. Throws std::invalid_argument, which says what there is, if no kernel
// computes the case.
const Variant& choose(const Convolution& problem, const Device& device);
// The same without chunks.
const Variant& choose_whole(const Convolution& problem, const Device& device);

// The kernel that skips removed frequencies, by the marks [N] of kept ones. For a fused kernel it is the sparse kernel
// of the same factors. It has no gates and is for devices of the first class. It is taken if this build has it and it
// pays. For outer passes and clusters it is the passes with fewest live rows; passes skip dead rows by themselves.
struct SparseChoice {
  const Variant* variant = nullptr;  // null: the kernel of choose() computes the case
  std::optional<LivePart> part;      // what a sparse kernel would compute, whether it pays or not
};
SparseChoice choose_sparse(const Variant& dense, const Device& device, std::span<const std::uint8_t> kept);

// The kernel that a plan takes for the case and these marks.
const Variant& choose(const Convolution& problem, const Device& device, std::span<const std::uint8_t> kept);

// Whether a convolution by it takes several launches: outer passes, or pieces at the beginnings of rows.
bool takes_several_launches(const Variant& variant);

// Whether choose() finds a kernel that this build has.
bool has_kernel(const Convolution& problem, const Device& device);

}  // namespace danaus
