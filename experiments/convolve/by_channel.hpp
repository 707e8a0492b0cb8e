// A convolution that can be interrupted: by channels, and a direct sum also by pieces of its filter.
#pragma once

#include <vector>

#include "experiments/cli/console.hpp"
#include "reference/convolution/convolve.hpp"

namespace danaus {

// y [B, H, L] by `method`. Throws Interrupted soon after an interrupt is requested; only one channel's transform is not
// broken off.
std::vector<double> convolve_by_channel(const Convolution& problem, const Inputs& inputs, Algorithm method,
                                        Console& console);

}  // namespace danaus
