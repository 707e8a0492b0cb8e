// The sums of conj(U) dY over the items of a channel, in fp32 registers.
#pragma once

#include "kernels/memory/correlation.hpp"
#include "kernels/tile/tile.hpp"

namespace danaus::inline DANAUS_BACKEND {

// Two frequencies a lane: those of the halves of a register.
struct ComplexSums {
  float value[4] = {};  // re and im of the first, of the second

  // conj(u) dy more, times the factor where there is one.
  template <bool scaled>
  DANAUS_DEVICE void add(Complex2 u, Complex2 dy, float factor) {
    const float u_re[2] = {device::lower_float(u.re), device::upper_float(u.re)};
    const float u_im[2] = {device::lower_float(u.im), device::upper_float(u.im)};
    const float y_re[2] = {device::lower_float(dy.re), device::upper_float(dy.re)};
    const float y_im[2] = {device::lower_float(dy.im), device::upper_float(dy.im)};
    DANAUS_UNROLL
    for (int e = 0; e < 2; ++e) {
      if constexpr (scaled) {
        const float re = u_re[e] * y_re[e], im = u_re[e] * y_im[e];
        value[2 * e] = device::fma(factor, device::fma(u_im[e], y_im[e], re), value[2 * e]);
        value[2 * e + 1] = device::fma(factor, device::fma(-u_im[e], y_re[e], im), value[2 * e + 1]);
      } else {
        value[2 * e] = device::fma(u_im[e], y_im[e], device::fma(u_re[e], y_re[e], value[2 * e]));
        value[2 * e + 1] = device::fma(-u_im[e], y_re[e], device::fma(u_re[e], y_im[e], value[2 * e + 1]));
      }
    }
    device::count_fp32(scaled ? 20 : 16);  // conversions among them
  }
  // To half j of vector `vector` of the sums of a channel.
  DANAUS_DEVICE void store(float* sums, int vector, int j) const {
    Words<4> words;
    memcpy(&words, value, sizeof(value));
    device::store_global<16>(sums + 4 * (32 * (2 * vector + j) + device::lane_index()), words);
  }
};

}  // namespace danaus::inline DANAUS_BACKEND
