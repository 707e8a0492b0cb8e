#include "experiments/bench/contenders.hpp"

#include <bit>

#include "kernels/plan/choice.hpp"
#include "reference/convolution/rounding.hpp"
#include "reference/dft.hpp"

namespace danaus {
namespace {

std::optional<std::string> kernel_obstacle(const Convolution& problem, const Device& device) {
  try {
    choose(problem, device);
    return std::nullopt;
  } catch (const std::invalid_argument& refusal) {
    return refusal.what();
  }
}

}  // namespace

std::optional<std::string> obstacle(Contender contender, const Convolution& p, const Device& device) {
  if (contender == Contender::kernel) return kernel_obstacle(p, device);
  const std::string who(name_in(kContenders, contender));
  if (p.dtype != Dtype::f16 && p.dtype != Dtype::bf16)
    return who + ": dtype " + std::string(name(p.dtype)) + ", must be f16 or bf16";
  if (p.fft_size != 0 || p.fold || !p.factors.empty() || !p.mask.empty())
    return who + ": chooses N for itself and knows no fold, factors or mask; leave them out of the case";
  if (contender != Contender::copy && p.filter != Dtype::f32)
    return who + ": takes filters in f32, not in " + std::string(name(p.filter));
  if (contender == Contender::copy && (p.pregate || p.postgate)) return who + ": a plain copy has no gates";
  if (contender == Contender::cufft_pairs &&
      !std::has_single_bit(static_cast<std::uint64_t>(baseline_fft_size(contender, p))))
    return who + ": N=" + std::to_string(p.length) + ", cuFFT takes only powers of two in 16 bits";
  return std::nullopt;
}

std::int64_t baseline_fft_size(Contender contender, const Convolution& p) {
  if (p.mode == Mode::circular) return p.length;
  const std::int64_t least = smallest_linear_fft_size(p);
  if (contender == Contender::cufft_f32) return next_smooth(least);
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(least)));
}

// f32: the result is rounded once to 16 bits; what comes before is rounded in fp32, some numbers in each of log2 N
// steps. pairs: every step rounds a twiddle, its product and a sum, and both ways take log2 N steps at most; then the
// spectrum, the product with it, and the gates, which the f32 baseline has in fp32.
double baseline_bound(Contender contender, const Convolution& p) {
  const int steps = std::bit_width(static_cast<std::uint64_t>(baseline_fft_size(contender, p)));
  constexpr int kEachStep = 3;
  const int both_ways = 2 * kEachStep * steps + kEachStep;
  if (contender == Contender::cufft_f32)
    return bound_l2_of_roundings(p.dtype, 1) + bound_l2_of_roundings(Dtype::f32, both_ways);
  return bound_l2_of_roundings(p.dtype, both_ways + p.pregate + p.postgate);
}

}  // namespace danaus
