// Which kernel computes a case on a device.
#pragma once

#include <optional>
#include <span>

#include "kernels/families/variant.hpp"
#include "kernels/plan/live_blocks.hpp"

namespace danaus {

// The index into kDeviceClasses of the most that the device has room for. Throws where it has less than any.
int device_class_of(const Device& device);

// The fold, where the case leaves it open: of circular cases whose L is an FFT size pair; plain for single rows where
// that has a kernel, else pair if they have a mask; right angle for all others.
// N, where it is open: L for pair and plain, the smallest that holds L for the right angle, or L + K - 1 for a causal
// case in the pair fold. The split, where the case has no factors: the preferred one, or another if only that fits the
// device. Whether this build has it is not asked. Throws std::invalid_argument where no kernel does, and says what
// there is.
//
// Rows in chunks (chunks.hpp) where N is less than L, or where all is open, L is longer than a fused kernel's N and K
// so short that they take less time by what they move and compute.
const Variant& choose(const Convolution& problem, const Device& device);
// The same without chunks.
const Variant& choose_whole(const Convolution& problem, const Device& device);

// Of a case that removes frequencies, what marks of kept ones [N] leave to a kernel that skips: the sparse kernel of
// choose()'s factors, where this build has one and it pays, without gates, on devices of the first class. Of passes and
// clusters the passes that have fewer live rows; those of choose() leave out dead ones by themselves.
struct SparseChoice {
  const Variant* variant = nullptr;  // null: that of choose() computes the case
  std::optional<LivePart> part;      // of a sparse kernel, whether it pays or not
};
SparseChoice choose_sparse(const Variant& dense, const Device& device, std::span<const std::uint8_t> kept);

// The kernel that a plan takes for the case and these marks.
const Variant& choose(const Convolution& problem, const Device& device, std::span<const std::uint8_t> kept);

// Whether a convolution by it is a launch among others: outer passes, or pieces at the beginnings of rows.
bool takes_several_launches(const Variant& variant);

// Whether choose() finds a kernel that this build has.
bool has_kernel(const Convolution& problem, const Device& device);

}  // namespace danaus
