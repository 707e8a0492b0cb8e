// Plans of our kernels: those for the case, and those for the convolution by FFT that computes the same.
#include "experiments/methods/method.hpp"
#include "experiments/operations/subject.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cuda/machine.hpp"
#include "kernels/plan/chunks.hpp"
#include "reference/judge.hpp"
#include "reference/step/step.hpp"

namespace danaus {
namespace {

std::shared_ptr<const Machine> executor() { return executor_machine({.whole_blocks = kWholeBlocks}); }

Case itself(const Method&, const Case& asked, const Device& device) {
  require_kernel(asked, device);
  return asked;
}

// The convolution, or its gradients, with the way said.
template <bool in_pieces>
Case by_fft(const Method& method, const Case& asked, const Device& device) {
  if (convolution_of(asked)) fail(method.name, ": ", asked.token(), " says itself how it is computed");
  const Case by = convolution_by(method, asked);
  Convolution p = *convolution_of(by);
  if (in_pieces) {
    if (p.filter_length == p.length) fail(method.name, ": the filter is as long as the row");
    const ChunkVariant* chunks = cheaper_chunks(p, nullptr, device);
    if (!chunks || chunks->size >= p.length) fail(method.name, ": no N is less than L=", p.length);
    p.fft_size = chunks->size;
  } else {
    p.fold = Fold::right_angle;
  }
  return itself(method, by.as<Backward>() ? Case(Backward{p}) : Case(p), device);
}

}  // namespace

std::vector<Method> plan_methods() {
  return {
      {.name = kPlan,
       .summary = "the kernels that the plan chooses; verify executes them on the CPU",
       .by = itself,
       .runs_plan = true,
       .usual_share = kUsualShare,
       .machine = executor},
      {.name = kOnGpu,
       .summary = "the kernels of a plan on the first GPU",
       .usual_share = kUsualShare,
       .machine = [] { return cuda_machine(); }},
      {"full_fft", "of short convolutions and state-space models, our convolution by FFTs of whole rows, with all taps",
       by_fft<false>, true},
      {"chunked_fft", "of short convolutions, our convolution by FFTs of pieces of rows", by_fft<true>, true}};
}

}  // namespace danaus
