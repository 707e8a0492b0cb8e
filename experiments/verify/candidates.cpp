#include "experiments/verify/candidates.hpp"

#include <array>

#include "experiments/verify/execution.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cuda/machine.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/plan.hpp"
#include "reference/convolution/terms.hpp"

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

// Where the two candidates that run kernels run them.
struct OnExecutor {
  static constexpr std::int64_t kWholeBlocks = 8192;  // of a launch that is executed whole; else the blocks that differ
  static Device device() { return machine()->device(); }
  static std::shared_ptr<const Machine> machine() { return executor_machine({.whole_blocks = kWholeBlocks}); }
};
struct OnGpu {
  static Device device() { return cuda_device(); }
  static std::shared_ptr<const Machine> machine() { return cuda_machine(); }
};

template <class Place>
const Variant& variant_for(const Convolution& problem) {
  return choose(problem, Place::device());
}

template <class Place>
Convolution planned_by_kernel(const Convolution& problem) {
  return planned(problem, variant_for<Place>(problem));
}

bool executor_computes(const Convolution& problem) { return has_kernel(problem, OnExecutor::device()); }

bool gpu_computes(const Convolution& problem) {
  static const bool kHasGpu = cuda_device_count() > 0;
  return kHasGpu && has_kernel(problem, cuda_device());
}

template <class Place>
std::vector<double> by_kernel(const Convolution& problem, const Inputs& inputs) {
  return execute(problem, values_of(inputs), Place::machine()).outputs.at("y");
}

constexpr std::array kCandidates = {
    Candidate{"fftw", std::nullopt, "FFTW in double", true, &reference<Method::fftw>, &fftw_bound},
    Candidate{"monarch", std::nullopt, "explicit Monarch factors in double", true, &reference<Method::monarch>,
              &double_pipeline_bound},
    Candidate{"rounded", Scaling::unitary, "rounding model of a kernel in the case's type, unitary factors", false,
              &rounded<Scaling::unitary>, &pipeline_bound},
    Candidate{"rounded", Scaling::one_side, "the same with all of 1/N in the forward transform", false,
              &rounded<Scaling::one_side>, &pipeline_bound},
    Candidate{"kernel", std::nullopt, "the kernels of a plan, executed on the CPU", false, &by_kernel<OnExecutor>,
              nullptr, &planned_by_kernel<OnExecutor>, &executor_computes, kUsualShare, &OnExecutor::machine},
    Candidate{kOnGpu, std::nullopt, "the kernels of a plan on the first GPU", false, &by_kernel<OnGpu>, nullptr,
              &planned_by_kernel<OnGpu>, &gpu_computes, kUsualShare, &OnGpu::machine},
};

}  // namespace

std::span<const Candidate> candidates() { return kCandidates; }

bool computes(const Candidate& candidate, const Case& asked) {
  if (const auto* convolution = asked.as<Convolution>()) return candidate.computes(*convolution);
  if (!candidate.machine || (candidate.name == kOnGpu && cuda_device_count() == 0)) return false;
  return has_plan(asked, candidate.machine());
}

}  // namespace danaus
