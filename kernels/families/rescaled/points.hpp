// A transform's points in global memory, in place.
//
// source  Gentleman and Sande 1966 forward, Cooley and Tukey 1965 back: nothing has to be reordered
// index   n = step n1 + n2 and k = k1 + r k2 in each stage. Frequencies are in the order of reversed digits
#pragma once

#include "kernels/families/rescaled/layout.hpp"
#include "kernels/tile/bits.hpp"
#include "kernels/tile/fp32.hpp"

namespace danaus::rescaled::inline DANAUS_BACKEND {

using fp32::Complex;

// Of a block, all of whose threads call the same functions.
template <int threads>
class Points {
 public:
  DANAUS_DEVICE Points(float* points, const Stages& stages)
      : points_(points), stages_(stages), thread_(device::thread_index()) {}

  DANAUS_DEVICE Complex load(int n) const {
    const Words<2> words = device::load_global<8>(points_ + 2ll * n);
    return {float_of(words[0]), float_of(words[1])};
  }
  DANAUS_DEVICE void store(int n, Complex x) const {
    device::store_global<8>(points_ + 2ll * n, {word_of(x.re), word_of(x.im)});
  }

  // Which frequency stands at place p; and where frequency k stands.
  DANAUS_DEVICE int frequency_at(int p) const {
    int k = 0, weight = 1, step = stages_.size;
    DANAUS_UNROLL_BY(1)
    for (int s = 0; s < stages_.count; ++s) {
      const int radix = stages_.radices[s];
      step /= radix;
      k += weight * (p / step), p %= step, weight *= radix;
    }
    return k;
  }
  DANAUS_DEVICE int place_of(int k) const {
    int p = 0, step = stages_.size;
    DANAUS_UNROLL_BY(1)
    for (int s = 0; s < stages_.count; ++s) {
      const int radix = stages_.radices[s];
      step /= radix;
      p += step * (k % radix), k /= radix;
    }
    return p;
  }

  // The way back is that of conjugate numbers, and gives them.
  template <bool back>
  DANAUS_DEVICE void transform() const {
    int span = back ? 1 : stages_.size;
    DANAUS_UNROLL_BY(1)
    for (int s = 0; s < stages_.count; ++s) {
      const int radix = stages_.radices[back ? stages_.count - 1 - s : s];
      if (back) span *= radix;
      switch (radix) {
        case 2: stage<2, back>(span); break;
        case 3: stage<3, back>(span); break;
        case 4: stage<4, back>(span); break;
        case 5: stage<5, back>(span); break;
        case 7: stage<7, back>(span); break;
        case 8: stage<8, back>(span); break;
        default: stage<16, back>(span);
      }
      if (!back) span /= radix;
    }
  }

 private:
  template <int r, bool back>
  DANAUS_DEVICE void stage(int span) const {
    const int step = span / r;
    DANAUS_UNROLL_BY(1)
    for (int i = thread_; i < stages_.size / r; i += threads) {
      const int n = i % step, first = i / step * span + n;
      Complex x[r];
      DANAUS_UNROLL
      for (int d = 0; d < r; ++d) x[d] = load(first + step * d);
      const Complex w = fp32::turn(-2 * n, span);
      const Complex w4 = r > 4 ? fp32::turn_of_quarters(-4 * n, span / 4) : Complex{1, 0};
      if (back) fp32::times_powers(x, w, w4);
      fp32::dft(x);
      if (!back) fp32::times_powers(x, w, w4);
      DANAUS_UNROLL
      for (int d = 0; d < r; ++d) store(first + step * d, x[d]);
    }
    device::sync_block();
  }

  float* const points_;
  const Stages& stages_;
  const int thread_;
};

}  // namespace danaus::rescaled::inline DANAUS_BACKEND
