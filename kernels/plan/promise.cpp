#include "kernels/plan/promise.hpp"

#include <algorithm>

#include "kernels/families/direct/tunings.hpp"
#include "kernels/families/state/family.hpp"
#include "kernels/plan/correlation.hpp"
#include "kernels/plan/program.hpp"
#include "kernels/plan/state.hpp"
#include "reference/backward/backward.hpp"
#include "reference/convolution/mask.hpp"
#include "reference/gated/gated.hpp"
#include "reference/short_backward/short_backward.hpp"
#include "reference/spectral_gradient/spectral_gradient.hpp"
#include "reference/state/state.hpp"
#include "reference/step/step.hpp"

namespace danaus {
namespace {

// Taps that a kernel has beyond those of the filter. They are zero. Gradients may be by several kernels, of which `v`
// is one.
std::int64_t taps_beyond(const Variant& v, const Case& asked) {
  std::int64_t most = v.family == "direct" ? direct::kLines[v.line].taps : 0;
  const auto* backward = asked.as<ShortBackward>();
  if (backward)
    for (const auto& line : direct::kLines) most = std::max<std::int64_t>(most, line.taps);
  return std::max<std::int64_t>(most - (backward ? backward->forward : *asked.as<ShortConvolution>()).taps, 0);
}

}  // namespace

// In f16 a short filter's pregate rounds its product, and a state's kernel what it has of small samples. A layer's
// spectrum of a constant row of X samples is sqrt(X) times as large. Where bf16 samples are computed in f16, they
// become so by a power of two.
bool takes_any_loudness(const Variant& v, const Case& asked) {
  if (asked.as<ShortBackward>() || asked.as<SpectralGradient>()) return false;
  if (const auto* gated = asked.as<GatedConvolution>())
    return gated->taps == 0 || v.filtered || v.dtype == Dtype::bf16 || !gated->conv.pregate;
  if (convolution_of(asked) && v.size > 0) return true;
  if (const auto* p = asked.as<ShortConvolution>()) return v.dtype == Dtype::bf16 || !p->pregate;
  return v.dtype != Dtype::f16;
}

Spread spread_of(const Variant& v) {
  const bool keeps_reach = v.family == "toeplitz" || v.family == "direct" || v.family == "state";
  return keeps_reach ? Spread::reach : Spread::row;
}

Promise promise_of(const Case& asked, const Variant& v, const Device& device) {
  Promise promise;
  promise.roundings.forward = v.roundings();
  promise.shared_rows = v.way() == Way::pieces ? 0 : v.item_rows();
  if (const Convolution* p = convolution_of(asked)) {
    const RoundingsOfGradients gradients =
        asked.as<Convolution>() ? RoundingsOfGradients{} : roundings_of_gradients(*p, v, device);
    promise.roundings.of_rows = gradients.of_rows, promise.roundings.of_sums = gradients.of_sums;
    return promise;
  }
  if (const auto* gated = asked.as<GatedConvolution>()) {
    // The postgate is rounded by itself; what is multiplied by a gate anyway is rounded once with it, but between two
    // launches.
    if (gated->taps > 0) promise.roundings.forward += gated->conv.postgate + !(v.filtered || gated->conv.pregate);
    return promise;
  }
  promise.shared_rows = 1;
  if (const auto* state = asked.as<StateSpace>()) {  // by the recurrence one sample at a time
    if (v.shared_bytes > 0) {
      promise.roundings.chunk = state::choose(*state, device, state::Work::convolve).layout().tuning.chunk;
      promise.roundings.ends_chunk = ends_chunk(*state, device);
    }
    promise.nonfinite_reach = 0;
  } else if (spread_of(v) == Spread::reach) {
    promise.nonfinite_reach = taps_beyond(v, asked);
  }
  return promise;
}

Promise promise_of(const Case& asked, const Device& device) {
  const Program program = make_program(asked, device, marks_of(asked));
  return promise_of(asked, *program.variant, device);
}

}  // namespace danaus
