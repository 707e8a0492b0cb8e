// How far the outputs of a convolution and of its gradients may be from the truth, and what ties them together.
#pragma once

#include <string_view>
#include <vector>

#include "reference/convolution/data.hpp"
#include "reference/truth.hpp"

namespace danaus {

// The arrays of a convolution out of those of a case; empty where the case has none.
Inputs inputs_of(const Values& values);

// Of an output: the bound on its relative L2 error, and what that is relative to where the output itself is small.
struct OutputBound {
  std::string_view name;
  double l2;
  double summed = 0;  // the norm of the output were nothing cancelled, as compare() takes it
};

// The root of the sum over rows of |w u|^2 |v dy|^2, where rows err independently, and of it the share that K taps see.
double summed_to_taps(const Convolution& p, const Inputs& inputs, const std::vector<double>& dy, double seen);

// How often samples are rounded on their way to outputs: by the kernel that convolves, by that of the rows' gradients
// (bound_l2_of_kernel()), and u and dy to dk's sums over the batch (bound_l2_of_correlation()).
struct RoundingsOfPasses {
  int forward, of_rows, of_sums;
};

// Of y and of every gradient of the convolution `p` with these inputs, dy among them. A gradient of samples is a
// convolution itself: of dy and the conjugate spectrum, du with the gates the other way round.
std::vector<OutputBound> bounds_of_passes(const Convolution& p, const Values& values,
                                          const RoundingsOfPasses& roundings);

// <y, dy> = <du, u> = <dk, k> = <dw, w> = <dpregate, pregate> = <dpostgate, postgate>, for any data: what each product
// of an output with its input is off by. Where a bias is added behind the filter, its part of <y, dy> is <dbias, bias>,
// and in those with u, k and pregate it is not. Errors that know nothing of that input add up as a random walk does;
// the bound is four times its rms.
struct AdjointError {
  std::string_view output;
  double error, bound;
};
// Of those `outputs` that are there; `product` is <y, dy> in double, `of_bias` the bias's part of it.
std::vector<AdjointError> adjoint_errors(const Values& values, const Values& outputs, double product,
                                         const std::vector<OutputBound>& bounds, double of_bias = 0);

}  // namespace danaus
