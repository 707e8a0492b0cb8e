// Short depthwise convolutions and their gradients; another launch prepares their filters.
#pragma once

#include "kernels/plan/program.hpp"
#include "reference/short_backward/short_backward.hpp"

namespace danaus {

// By direct where the taps are few, else by toeplitz. Throws where no kernel computes the case on the device.
Program make_short_program(const Case& asked, const ShortConvolution& problem, const Device& device);
// Of few taps and no gates du, dk and dbias by direct at once. Else du and the gates' gradients by the same kernels as
// convolutions, of the filter from its end on; dk and dbias by short_gradient.
Program make_short_backward_program(const Case& asked, const ShortBackward& backward, const Device& device);

}  // namespace danaus
