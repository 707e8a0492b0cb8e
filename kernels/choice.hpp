// Which kernel computes a case on a device.
#pragma once

#include "kernels/device.hpp"
#include "kernels/variants.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus {

struct Choice {
  const Variant* variant;
  bool wraps;  // circular by the right angle: lo and hi are added modulo L
};

// The fold, where the case leaves it open: pair for circular cases whose L is an FFT size, right angle for all others.
// N, where it is open: L for the pair fold, the smallest that holds L for the right angle, or L + K - 1 for a causal
// case in the pair fold. The split, where the case has no factors: the preferred one, or another if only that fits the
// device. Throws std::invalid_argument where no kernel does, and says what there is.
Choice choose(const Convolution& problem, const Device& device);

// Whether choose() finds a kernel.
bool has_kernel(const Convolution& problem, const Device& device);

}  // namespace danaus
