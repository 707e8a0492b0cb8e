#include "kernels/plan/program.hpp"

#include "kernels/plan/arrays.hpp"
#include "kernels/plan/backward.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/chunks.hpp"
#include "kernels/plan/convolution.hpp"
#include "kernels/plan/filter.hpp"
#include "kernels/plan/fused.hpp"
#include "kernels/plan/gated.hpp"
#include "kernels/plan/long.hpp"
#include "kernels/plan/short.hpp"
#include "kernels/plan/spectral.hpp"
#include "kernels/plan/state.hpp"

namespace danaus {

std::unique_ptr<Step> make_convolution(const Case& asked, const Convolution& problem, const ConvolutionArrays& arrays,
                                       const Filters& filters, Pass pass, const Variant& variant,
                                       const Device& device) {
  const SpectrumPlace& place = pass == Pass::forward ? filters.forward : filters.adjoint;
  switch (variant.way()) {
    case Way::clusters:
      return make_cluster_convolution(asked, problem, arrays, place, static_cast<const ClusterVariant&>(variant),
                                      device);
    case Way::passes:
      return make_long_convolution(asked, problem, arrays, place, static_cast<const LongVariant&>(variant),
                                   filters.rows, device);
    case Way::pieces:
      return make_chunked_convolution(asked, problem, arrays, place, static_cast<const ChunkVariant&>(variant), device,
                                      pass);
    default: return make_fused_convolution(asked, problem, arrays, place, variant, filters.live);
  }
}

namespace {

// What is left to compute of a case that removes frequencies, or why all is.
std::string live_words(const Variant& variant, const SparseChoice& sparse, const std::vector<int>& rows) {
  if (sparse.part) return text(sparse.variant ? "computes " : "computes all: the mask leaves ", sparse.part->words());
  if (!rows.empty())
    return text("computes ", rows.size(), " of ", variant.outer_rows(), " rows between the outer passes");
  if (variant.outer_rows() > 1) return "computes all: the mask leaves too much of the rows between the outer passes";
  return "computes all: no kernel of this kind leaves out what a mask removes";
}

}  // namespace

Program make_program(const Case& asked, const Device& device, std::span<const std::uint8_t> kept) {
  if (const Backward* backward = asked.as<Backward>()) return make_backward_program(asked, *backward, device);
  if (const TrainingStep* step = asked.as<TrainingStep>()) return make_step_program(asked, *step, device);
  if (asked.as<Spectral>()) return make_spectral_program(asked, device);
  if (const auto* p = asked.as<ShortConvolution>()) return make_short_program(asked, *p, device);
  if (const auto* backward = asked.as<ShortBackward>()) return make_short_backward_program(asked, *backward, device);
  if (asked.as<SpectralGradient>()) return make_spectral_gradient_program(asked, device);
  if (asked.as<StateSpace>()) return make_state_program(asked, device);
  if (const auto* gated = asked.as<GatedConvolution>()) return make_gated_program(asked, *gated, device);
  const Convolution* p = asked.as<Convolution>();
  if (!p) fail("plan: ", asked.token(), " is of an operation that has no kernel");
  const Variant& dense = choose(*p, device);
  if (p->mask.empty() != kept.empty())
    fail("plan: the case removes ", p->mask.empty() ? "no" : "some", " frequencies, but ", kept.size(),
         " marks of kept ones are given");
  if (!kept.empty() && std::ssize(kept) != dense.size)
    fail("plan: the mask is of ", kept.size(), " frequencies, must be ", dense.size, " as N of ", dense.name);
  const SparseChoice sparse = choose_sparse(dense, device, kept);
  const Variant& variant = sparse.variant ? *sparse.variant : dense;
  Filters filters = make_filters(asked, *p, true, false, variant, device, kept);
  Program program;
  if (!kept.empty()) program.live_words = live_words(variant, sparse, filters.rows);
  program.variant = &variant;
  program.prepared_bytes = filters.bytes, program.layout = filters.layout;
  program.prepared_is_filter = variant.size == 0;
  program.execute.push_back(
      make_convolution(asked, *p, ConvolutionArrays(asked), filters, Pass::forward, variant, device));
  program.prepare = std::move(filters.steps);
  return program;
}

}  // namespace danaus
