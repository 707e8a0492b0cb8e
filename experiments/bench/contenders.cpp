#include "experiments/bench/contenders.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "experiments/bench/checked_rows.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/chunks.hpp"
#include "kernels/plan/long.hpp"
#include "kernels/plan/program.hpp"
#include "reference/convolution/rounding.hpp"
#include "reference/dft.hpp"
#include "reference/short_backward/short_backward.hpp"
#include "reference/spectral/layer.hpp"

namespace danaus {
namespace {

std::optional<std::string> kernel_obstacle(const Case& asked, const Device& device) {
  if (asked.as<ShortConvolution>() || asked.as<ShortBackward>()) return "bench: short convolutions are not timed yet";
  try {
    if (const Convolution* p = convolution_of(asked))
      choose(*p, device);
    else if (asked.as<Spectral>())
      make_program(asked, device);
    else
      return asked.token() + " is of an operation that is not timed";
    return std::nullopt;
  } catch (const std::invalid_argument& refusal) {
    return refusal.what();
  }
}

std::optional<std::string> layer_obstacle(Contender contender, const Spectral& p) {
  const std::string who(name_in(kContenders, contender));
  if (contender == Contender::cufft_f32 || contender == Contender::cufft_pairs)
    return who + ": computes convolutions, no spectral layers";
  if (contender == Contender::copy)
    return p.inputs == p.outputs ? std::nullopt
                                 : std::optional(who + ": u has " + std::to_string(p.inputs) + " channels, y has " +
                                                 std::to_string(p.outputs) + ", a plain copy needs as many");
  if (p.dtype != Dtype::f32) return who + ": dtype " + std::string(name(p.dtype)) + ", must be f32";
  if (contender == Contender::cufft_cublas_tf32 && !p.tf32) return who + ": the case asks for fp32, not for tf32";
  return std::nullopt;
}

std::optional<std::string> convolution_obstacle(Contender contender, const Convolution& p, bool forward) {
  const std::string who(name_in(kContenders, contender));
  if (contender == Contender::cufft_cublas_f32 || contender == Contender::cufft_cublas_tf32)
    return who + ": computes spectral layers, no convolutions";
  if (p.dtype != Dtype::f16 && p.dtype != Dtype::bf16)
    return who + ": dtype " + std::string(name(p.dtype)) + ", must be f16 or bf16";
  if (p.fft_size != 0 || p.fold || !p.factors.empty() || !p.mask.empty())
    return who + ": chooses N for itself and knows no fold, factors or mask; leave them out of the case";
  if (contender != Contender::copy && p.filter != Dtype::f32)
    return who + ": takes filters in f32, not in " + std::string(name(p.filter));
  if (contender == Contender::copy && !forward) return who + ": a plain copy has no gradients";
  if (contender == Contender::copy && (p.pregate || p.postgate)) return who + ": a plain copy has no gates";
  if (contender == Contender::cufft_pairs &&
      !std::has_single_bit(static_cast<std::uint64_t>(baseline_fft_size(contender, p))))
    return who + ": N=" + std::to_string(p.length) + ", cuFFT takes only powers of two in 16 bits";
  return std::nullopt;
}

// f32: a result is rounded once to 16 bits; what comes before is rounded in fp32, some numbers in each of log2 N steps.
// pairs: every step rounds a twiddle, its product and a sum, and both ways take log2 N steps at most; then the
// spectrum, the product with it, and the gates, which the f32 baseline has in fp32.
double bound_of_convolution(Contender contender, const Convolution& p, std::string_view output) {
  const int steps = std::bit_width(static_cast<std::uint64_t>(baseline_fft_size(contender, p)));
  constexpr int kEachStep = 3;
  const int both_ways = 2 * kEachStep * steps + kEachStep, gates = p.pregate + p.postgate;
  const bool in_f32 = contender == Contender::cufft_f32;
  if (output != "dk")
    return in_f32 ? bound_l2_of_roundings(p.dtype, 1) + bound_l2_of_roundings(Dtype::f32, both_ways)
                  : bound_l2_of_roundings(p.dtype, both_ways + gates);
  // Sums over the batch and the way back are in fp32. Of lags those that are written, as bound_l2_of_correlation() has
  // it.
  const double of_lags = static_cast<double>(p.filter_length) / static_cast<double>(p.length);
  const double seen = p.mode == Mode::circular ? of_lags : std::min(of_lags, 1.);
  const double there = in_f32 ? 0 : bound_l2_of_roundings(p.dtype, both_ways + gates);
  return std::sqrt(seen) * (there + bound_l2_of_roundings(Dtype::f32, both_ways + static_cast<int>(p.batch)));
}

// As of the samples' steps in fp32; TF32 rounds the operands of the product, which the case's own bound has among more.
double bound_of_layer(Contender contender, const Spectral& p) {
  if (contender == Contender::cufft_cublas_tf32) return bound_l2(p);
  constexpr int kEachStep = 3;
  const int steps = std::bit_width(static_cast<std::uint64_t>(points_of_row(p)));
  return bound_l2_of_roundings(Dtype::f32, 2 * kEachStep * steps + kEachStep);
}

}  // namespace

std::optional<std::string> obstacle(Contender contender, const Case& asked, const Device& device) {
  if (contender == Contender::kernel) return kernel_obstacle(asked, device);
  if (const auto* layer = asked.as<Spectral>()) return layer_obstacle(contender, *layer);
  if (const Convolution* p = convolution_of(asked))
    return convolution_obstacle(contender, *p, asked.as<Convolution>() != nullptr);
  return std::string(name_in(kContenders, contender)) + ": does not compute " + asked.token();
}

std::int64_t baseline_fft_size(Contender contender, const Convolution& p) {
  if (p.mode == Mode::circular) return p.length;
  const std::int64_t least = smallest_linear_fft_size(p);
  if (contender == Contender::cufft_f32) return next_smooth(least);
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(least)));
}

double baseline_bound(Contender contender, const Case& asked, std::string_view output) {
  if (contender == Contender::copy) return 0;
  if (const auto* layer = asked.as<Spectral>()) return bound_of_layer(contender, *layer);
  return bound_of_convolution(contender, *convolution_of(asked), output);
}

std::vector<std::string> families_of(const Case& asked, const Device& device) try {
  if (asked.as<Spectral>()) return {"mix"};
  const Convolution* p = convolution_of(asked);
  if (!p) return {};
  const Variant& variant = choose(*p, device);
  std::vector<std::string> families = {std::string(variant.family)};
  if (const auto* passes = dynamic_cast<const LongVariant*>(&variant))
    families = {"outer", std::string(passes->inner().family)};
  if (const auto* chunks = dynamic_cast<const ChunkVariant*>(&variant))
    families = {"pieces", std::string(chunks->inner().family)};
  if (!asked.as<Convolution>())
    for (const char* family : {"correlate_chain", "correlate_exchange", "outer", "taps"}) families.emplace_back(family);
  std::ranges::sort(families);
  families.erase(std::unique(families.begin(), families.end()), families.end());
  return families;
} catch (const std::invalid_argument&) {
  return {};
}

}  // namespace danaus
