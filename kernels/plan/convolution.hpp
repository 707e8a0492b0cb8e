// A convolution as a step of a program, by a fused kernel or by outer passes around one.
#pragma once

#include "kernels/plan/arrays.hpp"

namespace danaus {

// The convolution `problem` of a case, of these of its arrays, with what is prepared at the place.
std::unique_ptr<Step> make_convolution(const Case& asked, const Convolution& problem, const ConvolutionArrays& arrays,
                                       const SpectrumPlace& place, const Variant& variant, const Device& device);

}  // namespace danaus
