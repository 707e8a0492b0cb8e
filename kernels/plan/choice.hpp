// Which kernel computes a case on a device.
#pragma once

#include "kernels/families/variant.hpp"

namespace danaus {

// The index into kDeviceClasses of the most that the device has room for. Throws where it has less than any.
int device_class_of(const Device& device);

// The fold, where the case leaves it open: pair for circular cases whose L is an FFT size and that have two rows or
// more, or a mask; right angle for all others.
// N, where it is open: L for the pair fold, the smallest that holds L for the right angle, or L + K - 1 for a causal
// case in the pair fold. The split, where the case has no factors: the preferred one, or another if only that fits the
// device. Whether this build has it is not asked. Throws std::invalid_argument where no kernel does, and says what
// there is.
const Variant& choose(const Convolution& problem, const Device& device);

// Whether choose() finds a kernel that this build has.
bool has_kernel(const Convolution& problem, const Device& device);

}  // namespace danaus
