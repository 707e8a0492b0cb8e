#include "experiments/candidates.hpp"

#include <array>
#include <bit>
#include <cmath>

namespace danaus {
namespace {

int stages(const Problem& planned) { return static_cast<int>(planned.factors.size()); }

template <Method method>
std::vector<double> reference(const Problem& problem, const Inputs& inputs) {
  return convolve(problem, inputs, method);
}

template <Scaling scaling>
std::vector<double> rounded(const Problem& problem, const Inputs& inputs) {
  return convolve_rounded(problem, inputs, scaling);
}

double pipeline_bound(const Problem& planned) { return bound_l2(planned.dtype, stages(planned)); }

double double_pipeline_bound(const Problem& planned) { return bound_l2(Dtype::f64, stages(planned)); }

constexpr std::array kCandidates = {
    Candidate{"fftw", std::nullopt, "FFTW in double", true, &reference<Method::fftw>, &fftw_bound},
    Candidate{"monarch", std::nullopt, "explicit Monarch factors in double", true, &reference<Method::monarch>,
              &double_pipeline_bound},
    Candidate{"rounded", Scaling::unitary, "rounding model of a kernel in the case's type, unitary factors", false,
              &rounded<Scaling::unitary>, &pipeline_bound},
    Candidate{"rounded", Scaling::one_side, "the same with all of 1/N in the forward transform", false,
              &rounded<Scaling::one_side>, &pipeline_bound},
};

}  // namespace

std::span<const Candidate> candidates() { return kCandidates; }

// Two forward transforms and an inverse, in which each value is rounded about once in each of log2 N steps, and the
// products; as a random walk, and twice that for data whose energy the filter removes (constant data lose most).
double fftw_bound(const Problem& planned) {
  const int steps = std::bit_width(static_cast<std::uint64_t>(planned.fft_size));
  return 2 * unit_roundoff(Dtype::f64) * std::sqrt(3. * steps + 4);
}

}  // namespace danaus
