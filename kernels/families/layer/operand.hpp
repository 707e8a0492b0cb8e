// Operands of products in 16 bits, in TF32, or of fp32 in two parts of TF32 each. P::layout says which: `halves`,
// `split`. And numbers of spectra, of which they are made.
#pragma once

#include "kernels/tile/bits.hpp"

namespace danaus::layer::inline DANAUS_BACKEND {

// Fragments as the arithmetic has them: the words, and in two parts what the first ones leave, of which a product takes
// all but the last bit.
template <class P, int count>
struct Operand {
  static constexpr auto layout = P::layout;
  u32 high[count];
  u32 low[layout.split ? count : 1];

  DANAUS_DEVICE explicit Operand(const u32 (&words)[count]) {
    DANAUS_UNROLL
    for (int i = 0; i < count; ++i) {
      high[i] = words[i];
      if constexpr (layout.split) {
        high[i] = device::round_tf32(float_of(words[i]));
        low[i] = word_of(float_of(words[i]) - float_of(high[i]));
        device::count_fp32(1);
      }
    }
  }
  DANAUS_DEVICE void negate() {
    constexpr u32 kSigns = layout.halves ? 0x80008000u : 0x80000000u;
    DANAUS_UNROLL
    for (int i = 0; i < count; ++i) {
      high[i] ^= kSigns;
      if constexpr (layout.split) low[i] ^= kSigns;
    }
  }
};

template <class P>
DANAUS_DEVICE void add_product(float (&sum)[4], const Operand<P, 4>& a, const Operand<P, 2>& b) {
  if constexpr (P::layout.halves) {
    device::mma_f32acc<P::layout.key.dtype>(sum, a.high, b.high);
  } else {
    if constexpr (P::layout.split) {
      device::mma_tf32(sum, a.low, b.high);
      device::mma_tf32(sum, a.high, b.low);
    }
    device::mma_tf32(sum, a.high, b.high);
  }
}
// Tensor cores cut their sums off where they should round, which at every step takes a little of a long sum: 1e-5 of
// 512 on an H200, ten times the error of all else. So what has two parts is summed step by step in fp32.
DANAUS_DEVICE void add_step(float (&sum)[4], const float (&of_step)[4]) {
  DANAUS_UNROLL
  for (int i = 0; i < 4; ++i) sum[i] += of_step[i];
  device::count_fp32(4);
}

template <class P>
DANAUS_DEVICE void multiply(float (&sum)[4], const Operand<P, 4>& a, const Operand<P, 2>& b) {
  if constexpr (P::layout.split) {
    float of_step[4] = {};
    add_product<P>(of_step, a, b);
    add_step(sum, of_step);
  } else {
    add_product<P>(sum, a, b);
  }
}
// re += a x + c y, im += b x + d y.
template <class P>
DANAUS_DEVICE void multiply_both(float (&re)[4], float (&im)[4], const Operand<P, 4>& a, const Operand<P, 4>& b,
                                 const Operand<P, 2>& x, const Operand<P, 4>& c, const Operand<P, 4>& d,
                                 const Operand<P, 2>& y) {
  const auto add = [&](float(&to_re)[4], float(&to_im)[4]) {
    add_product<P>(to_re, a, x);
    add_product<P>(to_im, b, x);
    add_product<P>(to_re, c, y);
    add_product<P>(to_im, d, y);
  };
  if constexpr (P::layout.split) {
    float step_re[4] = {}, step_im[4] = {};
    add(step_re, step_im);
    add_step(re, step_re), add_step(im, step_im);
  } else {
    add(re, im);
  }
}

// Complex numbers of so many words each at two frequencies side by side in global memory, in one access where `pairs`;
// of `count` that there are, the rest zeros.
template <int words>
DANAUS_DEVICE Words<2 * words> load_pair(const u32* from, int count, bool pairs) {
  if (count >= 2 && pairs) return device::load_global<8 * words>(from);
  Words<2 * words> pair{};
  DANAUS_UNROLL
  for (int e = 0; e < 2; ++e) {
    if (e >= count) continue;
    const auto one = device::load_global<4 * words>(from + words * e);
    DANAUS_UNROLL
    for (int i = 0; i < words; ++i) pair[words * e + i] = one[i];
  }
  return pair;
}

}  // namespace danaus::layer::inline DANAUS_BACKEND
