#include "kernels/plan/promise.hpp"

#include <algorithm>

#include "kernels/families/direct/tunings.hpp"
#include "kernels/families/state/family.hpp"
#include "kernels/plan/correlation.hpp"
#include "kernels/plan/program.hpp"
#include "reference/backward/backward.hpp"
#include "reference/convolution/mask.hpp"
#include "reference/short_backward/short_backward.hpp"
#include "reference/spectral_gradient/spectral_gradient.hpp"
#include "reference/state/state.hpp"
#include "reference/step/step.hpp"

namespace danaus {
namespace {

constexpr int kMostRoundings = 64;  // on the way from u to y

bool is_pieces(const Variant& v) { return v.name.starts_with("pieces_"); }

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

bool keeps_rows_apart(const Variant& v) {
  if (is_pieces(v)) return false;
  if (v.family == "chain") return v.item_rows() == 1;
  if (v.family == "exchange") return v.item_rows() == 1;
  if (v.family == "cluster") return v.item_rows() == 1;
  if (v.family == "outer") return v.item_rows() == 1;
  return true;
}

// Gradients multiply two rows. In f16 a pregate rounds its product, and a state's kernel what it has of small samples.
// Where bf16 samples are computed in f16, they become so by a power of two.
bool takes_any_loudness(const Variant& v, const Case& asked) {
  if (asked.as<Backward>() || asked.as<TrainingStep>() || asked.as<ShortBackward>() || asked.as<SpectralGradient>())
    return false;
  if (v.family == "mix") return true;
  if (const auto* p = asked.as<ShortConvolution>()) return v.dtype == Dtype::bf16 || !p->pregate;
  return v.dtype == Dtype::bf16;
}

Spread spread_of(const Variant& v) {
  if (v.family == "toeplitz" || v.family == "direct") return Spread::reach;
  if (v.family == "state") return Spread::chunk;
  if (is_pieces(v)) return Spread::pieces;
  return keeps_rows_apart(v) ? Spread::row : Spread::pair;
}

Promise promise_of(const Case& asked, const Variant& v, const Device& device) {
  Promise promise;
  promise.roundings.forward = v.roundings();
  promise.keeps_rows_apart = keeps_rows_apart(v);
  promise.subnormal_roundings = takes_any_loudness(v, asked) ? 1 : kMostRoundings;
  promise.shared_rows = is_pieces(v) ? 0 : v.item_rows();
  if (const Convolution* p = convolution_of(asked)) {
    const RoundingsOfGradients gradients =
        asked.as<Convolution>() ? RoundingsOfGradients{} : roundings_of_gradients(*p, v, device);
    promise.roundings.of_rows = gradients.of_rows, promise.roundings.of_sums = gradients.of_sums;
    return promise;
  }
  promise.shared_rows = 1;
  if (const auto* state = asked.as<StateSpace>()) {  // by the recurrence one sample at a time
    if (v.shared_bytes > 0)
      promise.roundings.chunk = state::choose(*state, device, state::Work::convolve).layout().tuning.chunk;
    promise.nonfinite_reach = promise.roundings.chunk;
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
