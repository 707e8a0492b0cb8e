// Which kernel computes a case on a device.
#pragma once

#include <optional>
#include <span>

#include "kernels/families/variant.hpp"
#include "kernels/plan/live_blocks.hpp"

namespace danaus {

// The index into kDeviceClasses of the most that the device has room for. Throws where it has less than any.
int device_class_of(const Device& device);

// The kernel of a case. It chooses what the case leaves open.
//
// Fold. Circular cases whose L is an FFT size take the pair fold. Single rows of such cases take the plain fold where
// it has a kernel. If it has none, those with a mask take the pair fold. All other cases take the right angle.
//
// N. Pair and plain take L. The right angle takes the smallest N that holds L. A causal case in the pair fold takes the
// smallest N that holds L + K - 1.
//
// Split. The preferred one is taken, or another if only that one fits the device.
//
// Chunks (chunks.hpp). Rows are cut if N is less than L. A case without fold, N, factors and mask is also cut if L is
// longer than a fused kernel's N and chunks have the smaller estimated cost. They have it for short K.
//
// Whether this build has the kernel is not asked. Throws std::invalid_argument if no kernel computes the case. The
// message says what there is.
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
