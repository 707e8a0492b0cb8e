#include "kernels/plan/program.hpp"

#include "kernels/plan/arrays.hpp"
#include "kernels/plan/backward.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/convolution.hpp"
#include "kernels/plan/filter.hpp"
#include "kernels/plan/fused.hpp"
#include "kernels/plan/long.hpp"
#include "kernels/plan/spectral.hpp"
#include "kernels/plan/state.hpp"

namespace danaus {

std::unique_ptr<Step> make_convolution(const Case& asked, const Convolution& problem, const ConvolutionArrays& arrays,
                                       const SpectrumPlace& place, const Variant& variant, const Device& device) {
  if (const auto* of_passes = dynamic_cast<const LongVariant*>(&variant))
    return make_long_convolution(asked, problem, arrays, place, *of_passes, device);
  return make_fused_convolution(asked, problem, arrays, place, variant);
}

Program make_program(const Case& asked, const Device& device, std::span<const std::uint8_t> kept) {
  if (const Backward* backward = asked.as<Backward>()) return make_backward_program(asked, *backward, device);
  if (const TrainingStep* step = asked.as<TrainingStep>()) return make_step_program(asked, *step, device);
  if (asked.as<Spectral>()) return make_spectral_program(asked, device);
  if (asked.as<StateSpace>()) return make_state_program(asked, device);
  const Convolution* p = asked.as<Convolution>();
  if (!p) fail("plan: ", asked.token(), " is of an operation that has no kernel");
  const Variant& variant = choose(*p, device);
  if (p->mask.zeroed.empty() != kept.empty())
    fail("plan: the case removes ", p->mask.zeroed.empty() ? "no" : "some", " frequencies, but ", kept.size(),
         " marks of kept ones are given");
  const Prepared prepared(*p, variant.size, outer_rows(variant), true, false);
  Program program;
  program.variant = &variant;
  program.prepared_bytes = prepared.bytes();
  program.prepared_is_filter = variant.size == 0;
  if (!program.prepared_is_filter)
    program.prepare.push_back(make_filter_transform(asked, *p, prepared, variant, device, kept));
  program.execute.push_back(
      make_convolution(asked, *p, ConvolutionArrays(asked), {prepared.spectrum, prepared.factors}, variant, device));
  return program;
}

}  // namespace danaus
