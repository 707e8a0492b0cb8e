// Short depthwise convolutions and their gradients; another launch prepares their filters.
#pragma once

#include "kernels/plan/program.hpp"
#include "reference/short_backward/short_backward.hpp"

namespace danaus {

// By direct where a chunk of 8 samples and the one before hold all taps, else by toeplitz. Throws where no kernel
// computes the case on the device.
Program make_short_program(const Case& asked, const ShortConvolution& problem, const Device& device);
// du and the gates' gradients by the same kernels, of the filter from its end on; dk and dbias by correlate_short.
Program make_short_backward_program(const Case& asked, const ShortBackward& backward, const Device& device);

}  // namespace danaus
