#include "experiments/bench/contenders.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "experiments/operations/subject.hpp"
#include "kernels/plan/arrays.hpp"
#include "kernels/plan/chunks.hpp"
#include "reference/bounds.hpp"
#include "reference/dft.hpp"
#include "reference/spectral/layer.hpp"
#include "reference/step/step.hpp"

namespace danaus {
namespace {

bool is_of_layers(Contender contender) {
  return contender == Contender::cufft_cublas_f32 || contender == Contender::cufft_cublas_tf32;
}

std::optional<std::string> copy_obstacle(const Case& asked) {
  const std::vector<Array> arrays = asked.arrays();
  const std::string who(name_in(kContenders, Contender::copy));
  const int u = array_of(arrays, "u"), y = array_of(arrays, "y");
  if (y < 0 || array_of(arrays, "dy") >= 0) return who + ": a plain copy has no gradients";
  if (array_of(arrays, "pregate") >= 0 || array_of(arrays, "postgate") >= 0) return who + ": a plain copy has no gates";
  if (array_of(arrays, "x_initial") >= 0 || array_of(arrays, "x_final") >= 0)
    return who + ": a plain copy has no states";
  if (arrays[u].size() == arrays[y].size()) return std::nullopt;
  const Spectral& p = *asked.as<Spectral>();
  return text(who, ": u has ", p.inputs, " channels, y has ", p.outputs, ", a plain copy needs as many");
}

std::optional<std::string> layer_obstacle(Contender contender, const Spectral& p) {
  const std::string who(name_in(kContenders, contender));
  if (p.dtype != Dtype::f32) return who + ": dtype " + std::string(name(p.dtype)) + ", must be f32";
  if (contender == Contender::cufft_cublas_tf32 && !p.tf32) return who + ": the case asks for fp32, not for tf32";
  return std::nullopt;
}

std::optional<std::string> convolution_obstacle(Contender contender, const Convolution& p) {
  const std::string who(name_in(kContenders, contender));
  if (p.dtype != Dtype::f16 && p.dtype != Dtype::bf16)
    return who + ": dtype " + std::string(name(p.dtype)) + ", must be f16 or bf16";
  if (p.fft_size != 0 || p.fold || !p.factors.empty() || !p.mask.empty())
    return who + ": chooses N for itself and knows no fold, factors or mask; leave them out of the case";
  if (p.filter != Dtype::f32) return who + ": takes filters in f32, not in " + std::string(name(p.filter));
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
  // Sums over the batch and the way back are in fp32.
  const double there = in_f32 ? 0 : bound_l2_of_roundings(p.dtype, both_ways + gates);
  return there + bound_l2_of_roundings(Dtype::f32, both_ways + static_cast<int>(p.batch));
}

// As of the samples' steps in fp32; TF32 rounds the operands of the product, which the case's own bound has among more.
double bound_of_layer(Contender contender, const Spectral& p) {
  if (contender == Contender::cufft_cublas_tf32) return bound_l2(p);
  constexpr int kEachStep = 3;
  const int steps = std::bit_width(static_cast<std::uint64_t>(points_of_row(p)));
  return bound_l2_of_roundings(Dtype::f32, 2 * kEachStep * steps + kEachStep);
}

Case as_convolution(Contender contender, const Subject& subject) try {
  return subject.as_convolution();
} catch (const std::invalid_argument& refusal) {
  fail(name_in(kContenders, contender), ": ", refusal.what());
}

}  // namespace

std::optional<std::string> obstacle(Contender contender, const Case& asked, const Device& device) try {
  const std::string who(name_in(kContenders, contender));
  const auto subject = subject_of(asked, "bench");
  if (contender == Contender::kernel) return subject->obstacle(device);
  if (contender == Contender::copy) return copy_obstacle(asked);
  const auto* layer = asked.as<Spectral>();
  if (is_of_layers(contender))
    return layer ? layer_obstacle(contender, *layer) : who + ": computes spectral layers, no convolutions";
  if (contender == Contender::full_fft || contender == Contender::chunked_fft) {
    const Case by = by_fft(contender, asked, device);
    return subject_of(by, "bench")->obstacle(device);
  }
  const Case by = as_convolution(contender, *subject);
  return convolution_obstacle(contender, *convolution_of(by));
} catch (const std::invalid_argument& refusal) {
  return refusal.what();
}

Case by_fft(Contender contender, const Case& asked, const Device& device) {
  const std::string who(name_in(kContenders, contender));
  if (convolution_of(asked)) fail(who, ": ", asked.token(), " says itself how it is computed");
  const Case by = as_convolution(contender, *subject_of(asked, "bench"));
  Convolution p = *convolution_of(by);
  if (contender == Contender::full_fft) {
    p.fold = Fold::right_angle;
  } else {
    if (p.filter_length == p.length) fail(who, ": the filter is as long as the row");
    const ChunkVariant* chunks = cheaper_chunks(p, nullptr, device);
    if (!chunks || chunks->size >= p.length) fail(who, ": no N is less than L=", p.length);
    p.fft_size = chunks->size;
  }
  return by.as<Backward>() ? Case(Backward{p}) : Case(p);
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
  return bound_of_convolution(contender, *convolution_of(subject_of(asked, "bench")->as_convolution()), output);
}

}  // namespace danaus
