// skip: filters whose first tap has a number of the channel added, so that a convolution adds that many times its
// input.
//
// shapes     k, sum [H, K], skip [H]; sum[h][m] = k[h][m] + (m = 0 ? skip[h] : 0)
// types      k f32, f16 or bf16; the rest f32
// error      one rounding of the first tap
// reference  reference/gated/truth.cpp   test   tests/kernels/gated_test.cpp
#pragma once

#include "kernels/device/operations.hpp"
#include "kernels/families/skip/layout.hpp"
#include "kernels/tile/bits.hpp"

namespace danaus::skip::inline DANAUS_BACKEND {

template <Key key, Tuning tuning>
struct Shape {
  static constexpr Layout layout{key, tuning};
};

template <class P, Path path>
DANAUS_DEVICE void run(const Arguments& a) {
  constexpr Dtype F = P::layout.key.filter;
  device::let_next_grid_begin();
  device::wait_for_previous_grid();
  for (int h = device::block_index(); h < a.channels; h += device::block_count())
    for (int m = device::thread_index(); m < a.taps; m += P::layout.threads) {
      const long long at = 1ll * h * a.taps + m;
      float tap;
      if constexpr (F == Dtype::f32)
        tap = float_of(device::load_global<4>(static_cast<const float*>(a.k) + at)[0]);
      else
        tap = device::lower_float<F>(device::load_global<2>(static_cast<const std::uint16_t*>(a.k) + at)[0]);
      if (m == 0) tap += float_of(device::load_global<4>(a.skip + h)[0]);
      device::store_global<4>(a.sum + at, {word_of(tap)});
    }
}

}  // namespace danaus::skip::inline DANAUS_BACKEND
