// filtered_rows: x = w' * u' and v', each of u, w and v through a short filter of its own, before a long convolution.
//
// shapes     u, w, v, x, v' [B, H, L]; taps [P, H, T], bias [P, H] of the P parts that there are
// types      samples f16 or bf16; taps and sums f32; x and v' are rounded once
// steps      a thread has 8 samples and the 8 before them
// error      one rounding; those of f32 besides
// reference  reference/gated/truth.cpp   test   tests/kernels/gated_test.cpp
#pragma once

#include "kernels/families/filtered_rows/layout.hpp"
#include "kernels/memory/rows.hpp"
#include "kernels/tile/bits.hpp"

namespace danaus::filtered_rows::inline DANAUS_BACKEND {

template <Key key, Tuning tuning>
struct Shape {
  static constexpr Layout layout{key, tuning};
};

// 8 samples of part `part` from n on, through its filter.
template <Dtype T>
DANAUS_DEVICE void filter(const Arguments& a, int part, const void* rows, const RowStrides& strides, const Item& item,
                          int n, float (&samples)[8]) {
  const RowPlace row{offset_of(strides, item), 0, a.length};
  float near[16];
  DANAUS_UNROLL
  for (int half = 0; half < 2; ++half) {
    const int first = n - 8 + 8 * half;
    const Words<4> words = first < 0 ? Words<4>{} : load_chunk(rows, row, first, a.transfer);
    DANAUS_UNROLL
    for (int i = 0; i < 4; ++i) {
      near[8 * half + 2 * i] = device::lower_float<T>(words[i]);
      near[8 * half + 2 * i + 1] = device::upper_float<T>(words[i]);
    }
  }
  const long long number = 1ll * part * a.channels + item.channel;
  const float bias = a.bias ? float_of(device::load_global<4>(a.bias + number)[0]) : 0;
  DANAUS_UNROLL
  for (float& sample : samples) sample = bias;
  DANAUS_UNROLL
  for (int t = 0; t < 8; ++t) {
    if (t >= a.tap_count) break;
    const float tap = float_of(device::load_global<4>(a.taps + number * a.tap_count + t)[0]);
    DANAUS_UNROLL
    for (int i = 0; i < 8; ++i) samples[i] = device::fma(tap, near[8 + i - t], samples[i]);
  }
  device::count_fp32(8 * a.tap_count);
}

template <Dtype T>
DANAUS_DEVICE void store(void* rows, const Arguments& a, const Item& item, int n, const float (&samples)[8]) {
  Words<4> words;
  DANAUS_UNROLL
  for (int i = 0; i < 4; ++i) words[i] = device::pack2<T>(samples[2 * i], samples[2 * i + 1]);
  const RowPlace row{(1ll * item.row * a.channels + item.channel) * a.length, 0, a.length};
  store_chunk(rows, row, n, a.length % 8 == 0 ? Transfer::vector : Transfer::element, words);
}

template <class P, Path path>
DANAUS_DEVICE void run(const Arguments& a) {
  constexpr Layout layout = P::layout;
  constexpr Dtype T = layout.key.dtype;
  const int parts = ((a.length + 7) / 8 + layout.part_chunks() - 1) / layout.part_chunks();
  const long long tasks = 1ll * a.batch * a.channels * parts;
  device::let_next_grid_begin();
  device::wait_for_previous_grid();
  for (long long task = device::block_index(); task < tasks; task += device::block_count()) {
    const long long row = task / parts;
    const Item item{static_cast<int>(row % a.channels), static_cast<int>(row / a.channels)};
    const int first = static_cast<int>(task % parts) * layout.part_chunks() + device::thread_index();
    DANAUS_UNROLL
    for (int i = 0; i < layout.tuning.chunks; ++i) {
      const int n = 8 * (first + i * layout.threads);
      if (n >= a.length) continue;
      float samples[8], gate[8];
      filter<T>(a, 0, a.u, a.u_strides, item, n, samples);
      if (a.pregate) {
        filter<T>(a, 1, a.pregate, a.pregate_strides, item, n, gate);
        DANAUS_UNROLL
        for (int k = 0; k < 8; ++k) samples[k] *= gate[k];
        device::count_fp32(8);
      }
      store<T>(a.x, a, item, n, samples);
      if (!a.postgate) continue;
      filter<T>(a, 1 + (a.pregate != nullptr), a.postgate, a.postgate_strides, item, n, gate);
      store<T>(a.v, a, item, n, gate);
    }
  }
}

}  // namespace danaus::filtered_rows::inline DANAUS_BACKEND
