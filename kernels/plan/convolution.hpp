// A convolution as a step of a program, by a fused kernel, by outer passes around one, or chunk by chunk.
#pragma once

#include "kernels/plan/arrays.hpp"
#include "kernels/plan/filter.hpp"

namespace danaus {

// The convolution `problem` of a case, of these of its arrays, with what is prepared of its filters for the pass.
std::unique_ptr<Step> make_convolution(const Case& asked, const Convolution& problem, const ConvolutionArrays& arrays,
                                       const Filters& filters, Pass pass, const Variant& variant, const Device& device);

}  // namespace danaus
