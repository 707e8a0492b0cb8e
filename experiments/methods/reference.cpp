// The truth in double, and a model of how kernels round it.
#include "experiments/methods/method.hpp"
#include "reference/convolution/terms.hpp"

namespace danaus {
namespace {

template <Algorithm algorithm>
std::vector<double> exact(const Convolution& problem, const Inputs& inputs) {
  return convolve(problem, inputs, algorithm);
}

template <Scaling scaling>
std::vector<double> rounded(const Convolution& problem, const Inputs& inputs) {
  return convolve_rounded(problem, inputs, scaling);
}

template <bool in_double>
double bound_of_stages(const Convolution& planned) {
  return bound_l2(in_double ? Dtype::f64 : planned.dtype, static_cast<int>(planned.factors.size()));
}

}  // namespace

std::vector<Method> reference_methods() {
  return {{.name = "fftw",
           .summary = "FFTW in double",
           .compute = exact<Algorithm::fftw>,
           .bound = fftw_bound,
           .in_double = true},
          {.name = "monarch",
           .summary = "explicit Monarch factors in double",
           .compute = exact<Algorithm::monarch>,
           .bound = bound_of_stages<true>,
           .in_double = true},
          {.name = "rounded",
           .summary = "rounding model of a kernel in the case's type, unitary factors",
           .compute = rounded<Scaling::unitary>,
           .bound = bound_of_stages<false>,
           .scaling = Scaling::unitary},
          {.name = "rounded",
           .summary = "the same with all of 1/N in the forward transform",
           .compute = rounded<Scaling::one_side>,
           .bound = bound_of_stages<false>,
           .scaling = Scaling::one_side}};
}

}  // namespace danaus
