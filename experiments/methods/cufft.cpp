// cuFFT: convolutions in fp32 and in 16 bits; spectral layers, whose products are cuBLAS's.
#include <bit>

#include "experiments/methods/method.hpp"
#include "experiments/methods/runner.hpp"
#include "experiments/operations/subject.hpp"
#include "reference/bounds.hpp"
#include "reference/dft.hpp"
#include "reference/spectral/layer.hpp"
#include "reference/step/step.hpp"

namespace danaus {
namespace {

template <bool tf32>
Case layer(const Method& method, const Case& asked, const Device&) {
  const auto* p = asked.as<Spectral>();
  if (!p) fail(method.name, ": computes spectral layers, no convolutions");
  if (p->dtype != Dtype::f32) fail(method.name, ": dtype ", name(p->dtype), ", must be f32");
  if (tf32 && !p->tf32) fail(method.name, ": the case asks for fp32, not for tf32");
  return asked;
}

template <Contender contender>
Case convolution(const Method& method, const Case& asked, const Device&) {
  const Case by = convolution_by(method, asked);
  const Convolution& p = *convolution_of(by);
  if (p.dtype != Dtype::f16 && p.dtype != Dtype::bf16)
    fail(method.name, ": dtype ", name(p.dtype), ", must be f16 or bf16");
  if (p.fft_size != 0 || p.fold || !p.factors.empty() || !p.mask.empty())
    fail(method.name, ": chooses N for itself and knows no fold, factors or mask; leave them out of the case");
  if (p.filter != Dtype::f32) fail(method.name, ": takes filters in f32, not in ", name(p.filter));
  if (contender == Contender::cufft_pairs &&
      !std::has_single_bit(static_cast<std::uint64_t>(baseline_fft_size(contender, p))))
    fail(method.name, ": N=", p.length, ", cuFFT takes only powers of two in 16 bits");
  return by;
}

// f32: a result is rounded once to 16 bits. Before it each of log2 N steps rounds some numbers in fp32; so do gates.
// pairs: each step rounds a twiddle, its product and a sum. Both ways have at most log2 N steps. The spectrum, its
// product, and the gates are rounded too.
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

}  // namespace

std::int64_t baseline_fft_size(Contender contender, const Convolution& p) {
  if (p.mode == Mode::circular) return p.length;
  const std::int64_t least = smallest_linear_fft_size(p);
  if (contender == Contender::cufft_f32) return next_smooth(least);
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(least)));
}

double baseline_bound(Contender contender, const Case& asked, std::string_view output) {
  if (const auto* layer = asked.as<Spectral>()) return bound_of_layer(contender, *layer);
  return bound_of_convolution(contender, *convolution_of(asked), output);
}

std::vector<Method> cufft_methods() {
  return {{"cufft_f32",
           "cuFFT in fp32, R2C and C2R, with conversions from and to 16 bits; of a step the spectrum of u serves both "
           "passes",
           convolution<Contender::cufft_f32>},
          {"cufft_pairs",
           "cuFFT in 16 bits, C2C, two batch rows as one complex sequence, packing included; powers of two; likewise",
           convolution<Contender::cufft_pairs>},
          {"cufft_cublas_f32",
           "spectral layers by cuFFT and cuBLAS in fp32, truncation and padding as kernels of their own", layer<false>},
          {"cufft_cublas_tf32", "the same with products in TF32", layer<true>}};
}

}  // namespace danaus
