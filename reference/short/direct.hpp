// The truth of short convolutions in double, by their definition.
#pragma once

#include "reference/short/short.hpp"
#include "reference/truth.hpp"

namespace danaus {

// Gaussian inputs of a case, rounded to their types; k of variance 1 / K, so that white noise keeps its scale.
Values make_inputs(const ShortConvolution& problem, std::uint64_t seed = 0);

// y, of the values that arrays() names.
std::vector<double> short_convolution(const ShortConvolution& problem, const Values& values);

// Of each sample of y the square that it would have if the terms of its sum were all at right angles: what rounding
// errors are relative to where y is small because they cancel.
std::vector<double> summed_squares(const ShortConvolution& problem, const Values& values);

// Of sum(y * dy): with respect to u, k and the bias, and the gates where the case has some.
struct ShortGradients {
  std::vector<double> du, dk, dbias, dpregate, dpostgate;
};
ShortGradients short_gradients(const ShortConvolution& problem, const Values& values);  // dy among them
// Of each of their elements the square that it would have likewise, were its terms at right angles.
ShortGradients summed_gradients(const ShortConvolution& problem, const Values& values);

}  // namespace danaus
