// Gated convolutions: short filters of the parts, one launch each, and the long convolution of what they leave.
#pragma once

#include "kernels/plan/program.hpp"
#include "reference/gated/gated.hpp"

namespace danaus {

Program make_gated_program(const Case& asked, const GatedConvolution& gated, const Device& device);

}  // namespace danaus
