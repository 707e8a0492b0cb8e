// direct: y = v * (conv(w * u, k) + bias) for at most 9 taps, by multiply-adds in registers.
//
// source     the definition
// index      [B, H, L]: a lane has 8 samples at a time and reads the 8 before too; the stream of u is `lead` samples
//            ahead, a multiple of 8, as toeplitz/kernel.hpp has it. [B, L, H]: a lane has 8 channels of a run of
//            samples, and keeps those before the current ones
// memory     16 bytes an access wherever rows begin, but for their ends
// types      fp32; rounded are y and products with the pregate
// error      relative L2 at most u sqrt(1 + gates)
// reference  reference/short/direct.hpp   test   tests/kernels/short_test.cpp
#pragma once

#include "kernels/families/direct/layout.hpp"
#include "kernels/memory/stream.hpp"
#include "kernels/tile/bits.hpp"

namespace danaus::direct::inline DANAUS_BACKEND {

template <Key key, Tuning tuning>
struct Shape {
  static constexpr Layout layout{key, tuning};
  static_assert(!layout.broken_rule(), "tunings.hpp has a line that Layout::broken_rule() refuses");
};

DANAUS_DEVICE float bias_of(const Arguments& a, int channel) {
  return a.bias && channel < a.channels ? float_of(device::load_global<4>(a.bias + channel)[0]) : 0;
}

// Two sums as y, times the postgate's samples if there is one.
template <Dtype T>
DANAUS_DEVICE u32 finish(float first, float second, bool gated, u32 gate) {
  if (gated) first *= device::lower_float<T>(gate), second *= device::upper_float<T>(gate);
  return device::pack2<T>(first, second);
}

template <class P>
DANAUS_DEVICE void convolve_row(const Arguments& a) {
  constexpr Dtype T = P::layout.key.dtype;
  constexpr int kTaps = P::layout.key.taps, kRun = P::layout.tuning.run;
  const long long item = static_cast<long long>(device::block_index()) * P::layout.tuning.warps + device::warp_index();
  const long long row = item / a.runs;
  if (row >= static_cast<long long>(a.batch) * a.channels) return;
  const int channel = static_cast<int>(row % a.channels), stride = (a.channels + 7) / 8 * 8;
  const long long begin = row * a.length;
  const int before = a.transfer == Transfer::element ? 0 : static_cast<int>(a.shift + begin) & 7;
  const RowPlace place = {begin - before, before, before + a.length};
  float taps[kTaps];
  DANAUS_UNROLL
  for (int m = 0; m < kTaps; ++m) taps[m] = float_of(device::load_global<4>(a.filters + m * stride + channel)[0]);
  const float bias = bias_of(a, channel);
  int n = 8 * (32 * kRun * static_cast<int>(item % a.runs) + device::lane_index());
  DANAUS_UNROLL
  for (int i = 0; i < kRun; ++i, n += 8 * 32) {
    if (is_outside(place, n)) continue;
    const Words<4> old = load_gated<T>(a.u, a.pregate, place, n + a.lead - 8, a.transfer);
    const Words<4> now = load_gated<T>(a.u, a.pregate, place, n + a.lead, a.transfer);
    const Words<4> gate = a.postgate ? load_chunk(a.postgate, place, n, a.transfer) : Words<4>{};
    float u[16];
    DANAUS_UNROLL
    for (int w = 0; w < 4; ++w) {
      u[2 * w] = device::lower_float<T>(old[w]), u[2 * w + 1] = device::upper_float<T>(old[w]);
      u[8 + 2 * w] = device::lower_float<T>(now[w]), u[9 + 2 * w] = device::upper_float<T>(now[w]);
    }
    float sums[8];
    DANAUS_UNROLL
    for (int s = 0; s < 8; ++s) {
      sums[s] = bias;
      DANAUS_UNROLL
      for (int m = 0; m < kTaps; ++m) sums[s] += taps[m] * u[8 + s - m];
    }
    device::count_fp32(8 * kTaps);
    Words<4> y;
    DANAUS_UNROLL
    for (int w = 0; w < 4; ++w) y[w] = finish<T>(sums[2 * w], sums[2 * w + 1], a.postgate, gate[w]);
    store_chunk(a.y, place, n, a.transfer, y);
  }
}

// Whole pieces of 16 bytes without gates have a way of their own: where each access asks what it may be, few are under
// way at once.
template <class P, bool plain>
DANAUS_DEVICE void convolve_columns(const Arguments& a) {
  constexpr Dtype T = P::layout.key.dtype;
  constexpr int kTaps = P::layout.key.taps, kRun = P::layout.tuning.run, kAtOnce = P::layout.tuning.at_once;
  const int groups = (a.channels + 7) / 8;
  const long long item = static_cast<long long>(device::block_index()) * P::layout.threads + device::thread_index();
  const int channel = 8 * static_cast<int>(item % groups);
  const long long row = item / groups / a.runs;
  if (row >= a.batch) return;
  const ColumnPlace at = {row * a.length * a.channels, channel, a.channels, a.length};
  const int begin = kRun * static_cast<int>(item / groups % a.runs);
  float taps[kTaps][8], bias[8];
  DANAUS_UNROLL
  for (int m = 0; m < kTaps; ++m) DANAUS_UNROLL
  for (int half = 0; half < 2; ++half) {
    const Words<4> words = device::load_global<16>(a.filters + m * 8 * groups + channel + 4 * half);
    DANAUS_UNROLL
    for (int i = 0; i < 4; ++i) taps[m][4 * half + i] = float_of(words[i]);
  }
  DANAUS_UNROLL
  for (int i = 0; i < 8; ++i) bias[i] = bias_of(a, channel + i);
  Words<4> u[kTaps - 1 + kAtOnce];  // from the sample of the last tap on
  const auto load = [&](int n) {
    if constexpr (plain)
      return load_channels(a.u, at, n, channel, Transfer::vector);
    else
      return load_gated<T>(a.u, a.pregate, channels_of(at, n), channel, a.transfer);
  };
  DANAUS_UNROLL
  for (int i = 0; i < kTaps - 1; ++i) u[i] = load(begin + a.lead - (kTaps - 1) + i);
  DANAUS_UNROLL_BY(1)
  for (int n = begin; n < min(begin + kRun, a.length); n += kAtOnce) {
    Words<4> gate[kAtOnce]{}, y[kAtOnce];
    DANAUS_UNROLL
    for (int i = 0; i < kAtOnce; ++i) u[kTaps - 1 + i] = load(n + i + a.lead);
    if (!plain && a.postgate) DANAUS_UNROLL
    for (int i = 0; i < kAtOnce; ++i)
      gate[i] = load_gated<T>(a.postgate, nullptr, channels_of(at, n + i), channel, a.transfer);
    DANAUS_UNROLL
    for (int w = 0; w < 4; ++w) {
      float x[2][kTaps - 1 + kAtOnce], sums[2];
      DANAUS_UNROLL
      for (int i = 0; i < kTaps - 1 + kAtOnce; ++i)
        x[0][i] = device::lower_float<T>(u[i][w]), x[1][i] = device::upper_float<T>(u[i][w]);
      DANAUS_UNROLL
      for (int i = 0; i < kAtOnce; ++i) {
        DANAUS_UNROLL
        for (int c = 0; c < 2; ++c) {
          sums[c] = bias[2 * w + c];
          DANAUS_UNROLL
          for (int m = 0; m < kTaps; ++m) sums[c] += taps[m][2 * w + c] * x[c][kTaps - 1 + i - m];
        }
        y[i][w] = finish<T>(sums[0], sums[1], !plain && a.postgate, gate[i][w]);
      }
    }
    device::count_fp32(8 * kAtOnce * kTaps);
    DANAUS_UNROLL
    for (int i = 0; i < kAtOnce; ++i)
      if (n + i < a.length) store_channels(a.y, at, n + i, channel, plain ? Transfer::vector : a.transfer, y[i]);
    DANAUS_UNROLL
    for (int i = 0; i < kTaps - 1; ++i) u[i] = u[i + kAtOnce];
  }
}

template <class P, Path path>
DANAUS_DEVICE void run(const Arguments& a) {
  device::let_next_grid_begin();
  device::wait_for_previous_grid();
  if constexpr (!P::layout.key.channels_last)
    convolve_row<P>(a);
  else if (a.transfer == Transfer::vector && !a.pregate && !a.postgate)
    convolve_columns<P, true>(a);
  else
    convolve_columns<P, false>(a);
}

}  // namespace danaus::direct::inline DANAUS_BACKEND
