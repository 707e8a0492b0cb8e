// short_filter: taps and biases, in the order and the type that the kernels of short convolutions read.
//
// shapes     k [H, K], bias [H]; what is written: layout.hpp
// types      fp32 taps for direct; for toeplitz taps of the samples' type, rounded once
// reference  none   test   tests/kernels/short_test.cpp
#pragma once

#include "kernels/families/short_filter/layout.hpp"
#include "kernels/memory/stream.hpp"
#include "kernels/tile/bits.hpp"

namespace danaus::short_filter::inline DANAUS_BACKEND {

template <Key key, Tuning tuning>
struct Shape {
  static constexpr Layout layout{key, tuning};
};

template <Dtype T>
DANAUS_DEVICE float load_number(const void* from, long long i) {
  if constexpr (T == Dtype::f32)
    return float_of(device::load_global<4>(static_cast<const float*>(from) + i)[0]);
  else
    return device::lower_float<T>(device::load_global<2>(static_cast<const std::uint16_t*>(from) + i)[0]);
}

template <class P, Path path>
DANAUS_DEVICE void run(const Arguments& a) {
  constexpr Dtype T = P::layout.key.dtype, F = P::layout.key.filter;
  device::let_next_grid_begin();
  device::wait_for_previous_grid();
  const auto tap = [&](int channel, int at) {
    const int m = at - a.delay;
    if (channel >= a.channels || m < 0 || m >= a.count) return 0.f;
    return load_number<F>(a.k, static_cast<long long>(channel) * a.count + (a.flipped ? a.count - 1 - m : m));
  };
  const long long first = static_cast<long long>(device::block_index()) * P::layout.threads + device::thread_index();
  const long long step = static_cast<long long>(device::block_count()) * P::layout.threads;
  const int row = a.pairs > 0 ? 2 * a.pairs : (a.channels + 7) / 8 * 8;
  const long long words = static_cast<long long>(row) * (a.pairs > 0 ? a.channels : a.taps);
  for (long long i = first; i < words; i += step) {
    const int line = static_cast<int>(i / row), place = static_cast<int>(i % row);
    u32 word;
    if (a.pairs > 0) {
      const int at = 2 * (place % a.pairs - 16) + place / a.pairs;
      word = device::pack2<T>(tap(line, at), tap(line, at - 1));
    } else {
      word = word_of(tap(place, line));
    }
    device::store_global<4>(a.filters + i, {word});
  }
  if (a.bias)
    for (long long i = first; i < a.channels; i += step)
      device::store_global<4>(a.biases + i, {word_of(load_number<F>(a.bias, i))});
}

}  // namespace danaus::short_filter::inline DANAUS_BACKEND
