#include "experiments/verify/candidates.hpp"

#include <array>
#include <bit>
#include <cmath>

#include "kernels/cpu/machine.hpp"
#include "kernels/device/halves.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/plan.hpp"
#include "reference/convolution/mask.hpp"

namespace danaus {
namespace {

int stages(const Convolution& planned) { return static_cast<int>(planned.factors.size()); }

template <Method method>
std::vector<double> reference(const Convolution& problem, const Inputs& inputs) {
  return convolve(problem, inputs, method);
}

template <Scaling scaling>
std::vector<double> rounded(const Convolution& problem, const Inputs& inputs) {
  return convolve_rounded(problem, inputs, scaling);
}

double pipeline_bound(const Convolution& planned) { return bound_l2(planned.dtype, stages(planned)); }

double double_pipeline_bound(const Convolution& planned) { return bound_l2(Dtype::f64, stages(planned)); }

const Variant& variant_for(const Convolution& problem) { return choose(problem, Device()); }

Convolution planned_by_kernel(const Convolution& problem) { return planned(problem, variant_for(problem)); }

bool has_kernel(const Convolution& problem) { return has_kernel(problem, Device()); }

std::vector<double> by_kernel(const Convolution& problem, const Inputs& inputs) {
  const bool masked = !problem.mask.zeroed.empty();
  Plan plan(problem, executor_machine(), masked ? kept_frequencies(problem) : std::vector<std::uint8_t>());
  plan.set_filter(host::encode_bytes(filter_dtype(problem), inputs.k));
  const auto encoded = [&](const std::vector<double>& values) { return host::encode(problem.dtype, values); };
  std::vector<std::uint16_t> y(inputs.u.size());
  const std::vector<std::uint16_t> u = encoded(inputs.u), pregate = encoded(inputs.pregate),
                                   postgate = encoded(inputs.postgate);
  std::vector<Buffer> buffers = {{"u", std::span(u)}, {"y", std::span(y)}};
  if (problem.pregate) buffers.emplace_back("pregate", std::span(pregate));
  if (problem.postgate) buffers.emplace_back("postgate", std::span(postgate));
  plan.execute(buffers);
  return host::decode(problem.dtype, y);
}

// Its own count of roundings, and one a gate.
double kernel_bound(const Convolution& planned) {
  return bound_l2_of_kernel(planned, variant_for(planned).roundings());
}

constexpr std::array kCandidates = {
    Candidate{"fftw", std::nullopt, "FFTW in double", true, &reference<Method::fftw>, &fftw_bound},
    Candidate{"monarch", std::nullopt, "explicit Monarch factors in double", true, &reference<Method::monarch>,
              &double_pipeline_bound},
    Candidate{"rounded", Scaling::unitary, "rounding model of a kernel in the case's type, unitary factors", false,
              &rounded<Scaling::unitary>, &pipeline_bound},
    Candidate{"rounded", Scaling::one_side, "the same with all of 1/N in the forward transform", false,
              &rounded<Scaling::one_side>, &pipeline_bound},
    Candidate{"kernel", std::nullopt, "the fused kernel, executed on the CPU", false, &by_kernel, &kernel_bound,
              &planned_by_kernel, &has_kernel, kUsualShare},
};

}  // namespace

std::span<const Candidate> candidates() { return kCandidates; }

// Two forward transforms and an inverse, in which each value is rounded about once in each of log2 N steps, and the
// products; as a random walk, and twice that for data whose energy the filter removes (constant data lose most).
double fftw_bound(const Convolution& planned) {
  const int steps = std::bit_width(static_cast<std::uint64_t>(planned.fft_size));
  return 2 * unit_roundoff(Dtype::f64) * std::sqrt(3. * steps + 4);
}

}  // namespace danaus
