// mask: of the spectra of long filters, N = N1 N2, the rows k_hi that a mask leaves something of, times its weights.
//
// source     Fu et al. 2023, A.4; a real filter's frequency and mirror get the mean of their marks
// index      left[h][r][k_lo] = weight[r][k_lo] spectrum[h][rows[r]][k_lo]
// shapes     spectrum [C, N1, N2] -> [C, R, N2], factors of rows [C, N1] -> [C, R]
// types      f16, moved and multiplied by 0, 1/2 or 1
// memory     16 bytes a thread, four numbers, block by block a row
// error      none, but of halves below 2^-14
// reference  reference/convolution/mask.hpp   test   tests/kernels/long_mask_test.cpp
#pragma once

#include "kernels/device/operations.hpp"
#include "kernels/families/mask/layout.hpp"

namespace danaus::mask::inline DANAUS_BACKEND {

template <Key key, Tuning tuning>
struct Shape {
  static constexpr Layout layout{key, tuning};
};

template <class P, Path path>
DANAUS_DEVICE void run(const Arguments& a) {
  constexpr Layout layout = P::layout;
  constexpr int kPiece = 4;  // numbers: re of two, im of the two, and so of two more
  device::let_next_grid_begin();
  device::wait_for_previous_grid();
  for (int i = device::block_index(); i < a.channels * a.live; i += device::block_count()) {
    const int channel = i / a.live, number = i % a.live;
    const long long row =
        1ll * channel * a.rows_of_channel + static_cast<int>(device::load_constant<4>(a.rows + number)[0]);
    const u32 *from = a.spectrum + row * a.columns, *weights = a.weights + 1ll * number * a.columns / 2;
    u32* const to = a.left + 1ll * i * a.columns;
    for (int k = kPiece * device::thread_index(); k < a.columns; k += kPiece * layout.threads) {
      Words<4> z = device::load_global<16>(from + k);
      const Words<2> w = device::load_constant<8>(weights + k / 2);
      DANAUS_UNROLL
      for (int j = 0; j < 4; ++j) z[j] = device::mul2<layout.key.dtype>(z[j], w[j / 2]);
      device::store_global<16>(to + k, z);
    }
    if (a.factors && device::thread_index() == 0)
      device::store_global<4>(a.left_factors + i, device::load_global<4>(a.factors + row));
  }
}

}  // namespace danaus::mask::inline DANAUS_BACKEND
