// The truth of short convolutions in double, by their definition.
#pragma once

#include "reference/short/short.hpp"
#include "reference/truth.hpp"

namespace danaus {

// Gaussian inputs of a case, rounded to their types; k of variance 1 / K, so that white noise keeps its scale.
Values make_inputs(const ShortConvolution& problem, std::uint64_t seed = 0);

// y, of the values that arrays() names.
std::vector<double> short_convolution(const ShortConvolution& problem, const Values& values);

// The sum of the squared terms of each sample of y. Rounding errors are relative to it where terms cancel. In f16 taps,
// gated samples and sums before a gate count as 2^-14 at least, since a kernel may round them.
std::vector<double> summed_squares(const ShortConvolution& problem, const Values& values);

// Of sum(y * dy): with respect to u, k and the bias, and the gates where the case has some.
struct ShortGradients {
  std::vector<double> du, dk, dbias, dpregate, dpostgate;
};
ShortGradients short_gradients(const ShortConvolution& problem, const Values& values);  // dy among them
// The sum of the squared terms of each element of the gradients.
ShortGradients summed_gradients(const ShortConvolution& problem, const Values& values);

}  // namespace danaus
