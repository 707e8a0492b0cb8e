#include "kernels/plan/backward.hpp"

#include "kernels/plan/arrays.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/convolution.hpp"
#include "kernels/plan/correlation.hpp"
#include "kernels/plan/filter.hpp"

namespace danaus {
namespace {

// A kernel with an FFT: what needs none keeps no spectrum.
const Variant& choose_transform(Convolution p, const Device& device) {
  const Variant& variant = choose(p, device);
  if (variant.size > 0) return variant;
  p.fold = Fold::right_angle;
  return choose(p, device);
}

Program make_passes(const Case& asked, const Convolution& p, bool forward, const Device& device) {
  const Variant& variant = choose_transform(p, device);
  const std::vector<Array> arrays = asked.arrays();
  const auto number = [&](std::string_view name) { return array_of(arrays, name); };
  const int u = number("u"), dy = number("dy"), w = number("pregate"), v = number("postgate");

  const Correlator* const all = kernel_of_all_gradients(p, variant, device);
  Filters filters = make_filters(asked, p, true, !all, variant, device, {});
  const CorrelationArrays of_sums{u, w, dy, v, number("dk")};
  Program program;
  program.variant = &variant;
  const auto convolve = [&](Pass pass, const ConvolutionArrays& of) {
    program.execute.push_back(make_convolution(asked, p, of, filters, pass, variant, device));
  };
  if (forward) convolve(Pass::forward, {u, w, v, number("y")});
  if (all) {
    const RowGradients rows{number("du"), number("dpregate"), number("dpostgate")};
    const SpectrumPlace place = add_spectrum(filters, asked, p, variant, all->convolution(), device);
    program.execute.push_back(make_all_gradients(asked, p, of_sums, rows, place, *all, device));
  } else {
    convolve(Pass::adjoint, {dy, v, w, number("du")});
    if (p.pregate) convolve(Pass::adjoint, {dy, v, u, number("dpregate")});
    if (p.postgate) convolve(Pass::forward, {u, w, dy, number("dpostgate")});
    program.execute.push_back(make_correlation(asked, p, of_sums, device));
  }
  program.prepared_bytes = filters.bytes, program.layout = filters.layout;
  program.prepare = std::move(filters.steps);
  return program;
}

}  // namespace

Program make_backward_program(const Case& asked, const Backward& backward, const Device& device) {
  return make_passes(asked, backward.forward, false, device);
}

Program make_step_program(const Case& asked, const TrainingStep& step, const Device& device) {
  return make_passes(asked, step.forward, true, device);
}

}  // namespace danaus
