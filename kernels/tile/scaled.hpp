// bf16 samples in f16 arithmetic: multiplied by a power of two that makes the greatest of those that are transformed
// together one of 1 to 2, and the result by its inverse. The range of bf16 stays, and what is lost to rounding is that
// of f16 and once, at the end, that of bf16: for samples far below the greatest f16 is as coarse as for it, which is
// what a transform makes of them anyway.
#pragma once

#include "kernels/tile/bits.hpp"

namespace danaus::inline DANAUS_BACKEND::scaled {

// 2^(exponent - 127), 1 <= exponent <= 254.
DANAUS_DEVICE float power_of_two(int exponent) { return float_of(static_cast<u32>(exponent) << 23); }

// The nearest whose power of two and its inverse are normal numbers.
DANAUS_DEVICE int normal_exponent(int exponent) { return min(max(exponent, 1), 253); }

// The greatest magnitudes of pairs of bf16, of which `a` are some.
DANAUS_DEVICE u32 greatest(u32 a, u32 b) { return device::max2<Dtype::bf16>(a, b & 0x7fff7fffu); }
// The exponent of the greatest of all lanes'.
DANAUS_DEVICE int exponent_of_warp(u32 greatest) {
  return normal_exponent(static_cast<int>(device::max_of_warp(max(greatest & 0xffffu, greatest >> 16)) >> 7));
}

// From samples to what is computed with.
DANAUS_DEVICE u32 narrow(u32 samples, int exponent) {
  const float factor = power_of_two(254 - exponent);
  device::count_fp32(2);
  return device::pack2<Dtype::f16>(device::lower_float<Dtype::bf16>(samples) * factor,
                                   device::upper_float<Dtype::bf16>(samples) * factor);
}

// The same in place of all words that for_each(visit) visits; returns the exponent.
template <class ForEach>
DANAUS_DEVICE int narrow_all(ForEach for_each) {
  u32 greatest_of_all = 0;
  for_each([&](u32& samples) { greatest_of_all = greatest(greatest_of_all, samples); });
  const int exponent = exponent_of_warp(greatest_of_all);
  for_each([&](u32& samples) { samples = narrow(samples, exponent); });
  return exponent;
}

// Back, to samples of type T, the second times a gate's: of bf16 rounded once, at the end.
template <Dtype T>
DANAUS_DEVICE u32 samples_of(u32 results, float factor) {
  if constexpr (T == Dtype::f16) return results;
  device::count_fp32(2);
  return device::pack2<T>(device::lower_float(results) * factor, device::upper_float(results) * factor);
}
template <Dtype T>
DANAUS_DEVICE u32 samples_of(u32 results, float factor, u32 gate) {
  if constexpr (T == Dtype::f16) return device::mul2(results, gate);
  device::count_fp32(4);
  return device::pack2<T>(device::lower_float(results) * factor * device::lower_float<T>(gate),
                          device::upper_float(results) * factor * device::upper_float<T>(gate));
}

}  // namespace danaus::inline DANAUS_BACKEND::scaled
