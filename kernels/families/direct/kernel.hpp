// direct: y = v * (conv(w * u, k) + bias) for at most 16 taps, by multiply-adds in registers; and a convolution's du
// with its dk and dbias, in one pass over dy and u.
//
// source     the definition. Of gradients it takes dy for u and the filter from its end on: du[n] = sum of k'[m]
//            dy[n + lead - m], and dk'[m] = sum over b and n of u[n] dy[n + lead - m] meets the same samples
// index      [B, H, L]: a lane has 8 samples at a time and reads the 8 before too; the stream of u is `lead` samples
//            ahead, a multiple of 8, as toeplitz/kernel.hpp has it. [B, L, H]: a warp has 64 channels of a run of
//            samples, a lane two of them, and keeps those before the current one
// memory     [B, H, L]: 16 bytes an access wherever rows begin, but for their ends. [B, L, H]: 128 bytes of a sample
//            through a ring of the warp's own; of gates, and of u beside dy, too
// types      fp32; rounded are y and products with the pregate
// order      of a sum: along the runs of a part, then along the batch, lane by lane; then the parts
//            (short_gradient). It repeats bit by bit
// error      relative L2 at most u sqrt(1 + gates); of sums 2^-24 for each of a part's additions
// reference  reference/short/direct.hpp   test   tests/kernels/short_test.cpp
#pragma once

#include "kernels/families/direct/layout.hpp"
#include "kernels/memory/stream.hpp"
#include "kernels/memory/tap_sums.hpp"
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

DANAUS_DEVICE ItemRange runs_of(const Arguments& a, int part) {
  return items_of_part(static_cast<long long>(a.batch) * a.runs, part, a.parts);
}

// Where the sum of tap m of the filter from its end on belongs, of a part of a channel; null for what is no tap.
DANAUS_DEVICE float* sum_of(const Arguments& a, int part, int channel, int m) {
  const int tap = a.count - 1 - (m - a.delay);
  return tap < 0 || tap >= a.count ? nullptr : sums_of(a, part, channel) + tap;
}
DANAUS_DEVICE float* sum_of_dy(const Arguments& a, int part, int channel) {
  return sums_of(a, part, channel) + a.count;
}

// The taps of a run of a row, and what it adds to their sums.
template <class P>
class Row {
 public:
  DANAUS_DEVICE Row(const Arguments& a, int channel) : bias_(bias_of(a, channel)) {
    const int stride = (a.channels + 7) / 8 * 8;
    DANAUS_UNROLL
    for (int m = 0; m < kTaps; ++m)
      taps_[m] = float_of(device::load_global<4>(a.filters + m * stride + channel)[0]), lags_[m] = 0;
  }

  DANAUS_DEVICE void convolve(const Arguments& a, const RowPlace& place, int n) {
    DANAUS_UNROLL
    for (int i = 0; i < P::layout.tuning.run; ++i, n += 8 * 32) {
      if (is_outside(place, n)) continue;
      const Words<4> old = load_gated<T>(a.u, a.pregate, place, n + a.lead - 8, a.transfer);
      const Words<4> now = load_gated<T>(a.u, a.pregate, place, n + a.lead, a.transfer);
      Words<4> beside{};
      if constexpr (kCorrelates)
        beside = load_chunk(a.x, place, n, a.transfer);
      else if (a.postgate)
        beside = load_chunk(a.postgate, place, n, a.transfer);
      float u[16];
      DANAUS_UNROLL
      for (int w = 0; w < 4; ++w) {
        u[2 * w] = device::lower_float<T>(old[w]), u[2 * w + 1] = device::upper_float<T>(old[w]);
        u[8 + 2 * w] = device::lower_float<T>(now[w]), u[9 + 2 * w] = device::upper_float<T>(now[w]);
      }
      float sums[8];
      DANAUS_UNROLL
      for (int s = 0; s < 8; ++s) {
        sums[s] = bias_;
        DANAUS_UNROLL
        for (int m = 0; m < kTaps; ++m) sums[s] = device::fma(taps_[m], u[8 + s - kSkipped - m], sums[s]);
      }
      device::count_fp32(8 * kTaps);
      Words<4> y;
      DANAUS_UNROLL
      for (int w = 0; w < 4; ++w) y[w] = finish<T>(sums[2 * w], sums[2 * w + 1], !kCorrelates && a.postgate, beside[w]);
      store_chunk(a.y, place, n, a.transfer, y);
      if constexpr (kCorrelates) {
        DANAUS_UNROLL
        for (int s = 0; s < 8; ++s) {
          const float x = s % 2 ? device::upper_float<T>(beside[s / 2]) : device::lower_float<T>(beside[s / 2]);
          DANAUS_UNROLL
          for (int m = 0; m < kTaps; ++m) lags_[m] = device::fma(x, u[8 + s - kSkipped - m], lags_[m]);
          all_ += a.lead > 0 ? u[s] : u[8 + s];  // dy at n: a filter from its end on looks ahead by a chunk at most
        }
        device::count_fp32(8 * (kTaps + 1));
      }
    }
  }

  // The sums of the lanes, by `scratch`.
  DANAUS_DEVICE void store(const Arguments& a, int part, int channel, SharedAddress scratch) const {
    const int lane = device::lane_index();
    const SharedAddress own = scratch + 4 * (kTaps + 1) * lane;
    DANAUS_UNROLL
    for (int m = 0; m < kTaps; ++m) device::store_shared<4>(own + 4 * m, {word_of(lags_[m])});
    device::store_shared<4>(own + 4 * kTaps, {word_of(all_)});
    device::sync_warp();
    float* const to = lane < kTaps    ? sum_of(a, part, channel, lane)
                      : lane == kTaps ? sum_of_dy(a, part, channel)
                                      : nullptr;
    if (!to) return;
    float sum = 0;
    for (int i = 0; i < 32; ++i) sum += float_of(device::load_shared<4>(scratch + 4 * ((kTaps + 1) * i + lane))[0]);
    device::store_global<4>(to, {word_of(sum)});
  }

 private:
  static constexpr Dtype T = P::layout.key.dtype;
  static constexpr int kTaps = P::layout.key.taps, kSkipped = P::layout.key.skipped;
  static constexpr bool kCorrelates = P::layout.key.correlates;

  float taps_[kTaps], bias_, lags_[kTaps], all_ = 0;
};

// [B, H, L]: a warp has a run of a row; with sums, a part of a channel.
template <class P>
DANAUS_DEVICE void convolve_rows(const Arguments& a) {
  const long long item = static_cast<long long>(device::block_index()) * P::layout.tuning.warps + device::warp_index();
  const auto convolve = [&](Row<P>& row, long long number, int run) {
    const long long begin = number * a.length;
    const int before = a.transfer == Transfer::element ? 0 : static_cast<int>(a.shift + begin) & 7;
    row.convolve(a, {begin - before, before, before + a.length},
                 8 * (32 * P::layout.tuning.run * run + device::lane_index()));
  };
  if constexpr (P::layout.key.correlates) {
    const int part = static_cast<int>(item / a.channels), channel = static_cast<int>(item % a.channels);
    if (part >= a.parts) return;
    const ItemRange runs = runs_of(a, part);
    Row<P> row(a, channel);
    DANAUS_UNROLL_BY(1)
    for (int s = runs.first; s < runs.first + runs.count; ++s)
      convolve(row, static_cast<long long>(s / a.runs) * a.channels + channel, s % a.runs);
    row.store(a, part, channel, device::warp_index() * P::layout.sums_bytes);
  } else {
    const long long number = item / a.runs;
    if (number >= static_cast<long long>(a.batch) * a.channels) return;
    Row<P> row(a, static_cast<int>(number % a.channels));
    convolve(row, number, static_cast<int>(item % a.runs));
  }
}

// Begins to copy 64 channels of each of a stage's samples from n on, zero where there are none; a sample is a line of
// 128 bytes. A warp's; completes by copy_async_wait and its barrier.
DANAUS_DEVICE void copy_stage(const void* columns, const ColumnPlace& at, int n, Transfer transfer, SharedAddress to) {
  const int piece = device::lane_index() % 8, channel = at.channel + 8 * piece;
  DANAUS_UNROLL
  for (int i = 0; i < kStageSamples; i += 4) {
    const int line = i + device::lane_index() / 8, sample = n + line;
    const SharedAddress place = to + 128 * line + 16 * piece;
    if (transfer == Transfer::element) {
      device::store_shared<16>(place, load_channels(columns, at, sample, channel, transfer));
    } else {
      const bool present = static_cast<u32>(sample) < static_cast<u32>(at.length) && channel < at.channels;
      const long long from = at.begin + static_cast<long long>(sample) * at.channels + channel;
      device::copy_async(place, static_cast<const std::uint16_t*>(columns) + (present ? from : 0), present ? 16 : 0);
    }
  }
}

// Two channels of a sample, from at.channel on; zero where there are none.
DANAUS_DEVICE u32 load_two(const void* columns, const ColumnPlace& at, int n, Transfer transfer) {
  if (static_cast<u32>(n) >= static_cast<u32>(at.length) || at.channel >= at.channels) return 0;
  const auto* from =
      static_cast<const std::uint16_t*>(columns) + at.begin + static_cast<long long>(n) * at.channels + at.channel;
  if (transfer != Transfer::element) return device::load_global<4>(from)[0];
  const u32 first = device::load_global<2>(from)[0];
  return at.channel + 1 < at.channels ? first | device::load_global<2>(from + 1)[0] << 16 : first;
}

DANAUS_DEVICE void store_two(std::uint16_t* to, u32 word, int channel, int channels, Transfer transfer) {
  if (transfer != Transfer::element) {
    device::store_global<4>(to, {word});
  } else {
    device::store_global<2>(to, {word});
    if (channel + 1 < channels) device::store_global<2>(to + 1, {word >> 16});
  }
}

template <int taps>
using Columns = float[taps][2];  // of each tap, of two channels

// Stores the sums of dk and of the bias's gradient of two channels.
template <int taps>
DANAUS_DEVICE void store_column_sums(const Arguments& a, int part, int channel, const Columns<taps>& lags,
                                     const float (&all)[2]) {
  DANAUS_UNROLL
  for (int c = 0; c < 2; ++c) {
    if (channel + c >= a.channels) break;
    DANAUS_UNROLL
    for (int m = 0; m < taps; ++m)
      if (float* const to = sum_of(a, part, channel + c, m)) device::store_global<4>(to, {word_of(lags[m][c])});
    device::store_global<4>(sum_of_dy(a, part, channel + c), {word_of(all[c])});
  }
}

// Adds to one channel's sum the products of all taps at the stage's sample i, and to each lag that sample times `x`.
template <bool correlates, int taps>
DANAUS_DEVICE void add_products(const Columns<taps>& filter, const Columns<taps>& window, int i, int channel, float x,
                                float& sum, Columns<taps>& lags) {
  DANAUS_UNROLL
  for (int m = 0; m < taps; ++m) {
    const float u = window[(i - m + kStageSamples) % taps][channel];
    sum = device::fma(filter[m][channel], u, sum);
    if constexpr (correlates) lags[m][channel] = device::fma(x, u, lags[m][channel]);
  }
}

// Loads the samples before `begin`: sample n + lead - m stands at place (n - m) % taps. At the row's start they count
// for the bias too, so they are added to `all`.
template <Dtype T, bool correlates, int taps>
DANAUS_DEVICE void load_window(const Arguments& a, const void* pregate, const ColumnPlace& at, int begin,
                               Transfer transfer, Columns<taps>& window, float (&all)[2]) {
  DANAUS_UNROLL
  for (int m = 1; m < taps; ++m) {
    u32 word = load_two(a.u, at, begin + a.lead - m, transfer);
    if (pregate) word = device::mul2<T>(word, load_two(pregate, at, begin + a.lead - m, transfer));
    window[taps - m][0] = device::lower_float<T>(word), window[taps - m][1] = device::upper_float<T>(word);
    if (correlates && begin == 0) DANAUS_UNROLL
    for (int c = 0; c < 2; ++c) all[c] += window[taps - m][c];
  }
}

// [B, L, H]: a warp has a run of 64 channels, or a part of their runs; consecutive ones have what lies together.
// `plain` is without gates and by whole pieces of 16 bytes.
template <class P, bool plain>
DANAUS_DEVICE void convolve_columns(const Arguments& a) {
  constexpr Dtype T = P::layout.key.dtype;
  constexpr int kTaps = P::layout.key.taps, kStages = P::layout.tuning.stages, kStage = P::layout.stage_bytes;
  constexpr bool kCorrelates = P::layout.key.correlates;
  const int across = (a.channels + kWarpChannels - 1) / kWarpChannels, stride = (a.channels + 7) / 8 * 8;
  const long long item = static_cast<long long>(device::block_index()) * P::layout.tuning.warps + device::warp_index();
  const int part = static_cast<int>(item / across), first = kWarpChannels * static_cast<int>(item % across);
  if (part >= a.parts) return;
  const int channel = first + 2 * device::lane_index();
  const Transfer transfer = plain ? Transfer::vector : a.transfer;
  const void* const pregate = plain ? nullptr : a.pregate;
  const void* const beside = kCorrelates ? a.x : plain ? nullptr : a.postgate;
  const int step = kStage * (1 + (beside != nullptr) + (pregate != nullptr)), gate_at = step - kStage;
  const SharedAddress ring = device::warp_index() * kStages * step;

  float taps[kTaps][2], bias[2], lags[kTaps][2], all[2] = {0, 0};
  DANAUS_UNROLL
  for (int m = 0; m < kTaps; ++m) {
    const Words<2> words = channel < stride ? device::load_global<8>(a.filters + m * stride + channel) : Words<2>{0, 0};
    DANAUS_UNROLL
    for (int c = 0; c < 2; ++c) taps[m][c] = float_of(words[c]), lags[m][c] = 0;
  }
  DANAUS_UNROLL
  for (int c = 0; c < 2; ++c) bias[c] = bias_of(a, channel + c);

  const ItemRange runs = runs_of(a, part);
  DANAUS_UNROLL_BY(1)
  for (int run = runs.first; run < runs.first + runs.count; ++run) {
    const long long row = static_cast<long long>(run / a.runs) * a.length * a.channels;
    const ColumnPlace of_warp = {row, first, a.channels, a.length}, at = {row, channel, a.channels, a.length};
    const int begin = run % a.runs * a.run, end = min(begin + a.run, a.length);
    const auto copy = [&](int n, int stage) {
      const SharedAddress to = ring + stage * step;
      if (n < end) {
        copy_stage(a.u, of_warp, n + a.lead, transfer, to);
        if (beside) copy_stage(beside, of_warp, n, transfer, to + kStage);
        if (pregate) copy_stage(pregate, of_warp, n + a.lead, transfer, to + gate_at);
      }
      device::copy_async_commit();
    };
    DANAUS_UNROLL
    for (int i = 0; i < kStages - 1; ++i) copy(begin + i * kStageSamples, i);
    Columns<kTaps> window = {};
    load_window<T, kCorrelates, kTaps>(a, pregate, at, begin, transfer, window, all);
    auto* y = static_cast<std::uint16_t*>(a.y) + row + static_cast<long long>(begin) * a.channels + channel;
    int stage = 0;
    DANAUS_UNROLL_BY(1)
    for (int n = begin; n < end; n += kStageSamples) {
      device::copy_async_wait<kStages - 2>();
      device::sync_warp();
      copy(n + (kStages - 1) * kStageSamples, stage == 0 ? kStages - 1 : stage - 1);
      const SharedAddress from = ring + stage * step + 4 * device::lane_index();
      const int left = channel < a.channels ? end - n : 0;
      DANAUS_UNROLL
      for (int i = 0; i < kStageSamples; ++i, y += a.channels) {
        u32 now = device::load_shared<4>(from + 128 * i)[0];
        if (pregate) now = device::mul2<T>(now, device::load_shared<4>(from + gate_at + 128 * i)[0]);
        const u32 other = beside ? device::load_shared<4>(from + kStage + 128 * i)[0] : 0;
        float(&newest)[2] = window[i % kTaps], sums[2];
        newest[0] = device::lower_float<T>(now), newest[1] = device::upper_float<T>(now);
        const float x[2] = {device::lower_float<T>(other), device::upper_float<T>(other)};
        DANAUS_UNROLL
        for (int c = 0; c < 2; ++c) {
          sums[c] = bias[c];
          add_products<kCorrelates, kTaps>(taps, window, i, c, x[c], sums[c], lags);
          if constexpr (kCorrelates) all[c] += newest[c];
        }
        const u32 word = finish<T>(sums[0], sums[1], !kCorrelates && beside, other);
        if (i >= left) continue;
        store_two(y, word, channel, a.channels, transfer);
      }
      device::count_fp32(2 * kStageSamples * (kCorrelates ? 2 * kTaps + 1 : kTaps));
      stage = stage + 1 == kStages ? 0 : stage + 1;
    }
    // What is left under way is of no sample, but its place is about to be written to.
    device::copy_async_wait<0>();
    device::sync_warp();
  }
  if constexpr (kCorrelates) store_column_sums<kTaps>(a, part, channel, lags, all);
}

template <class P, Path path>
DANAUS_DEVICE void run(const Arguments& a) {
  device::let_next_grid_begin();
  device::wait_for_previous_grid();
  if constexpr (!P::layout.key.channels_last)
    convolve_rows<P>(a);
  else if (a.transfer == Transfer::vector && !a.pregate && !a.postgate)
    convolve_columns<P, true>(a);
  else
    convolve_columns<P, false>(a);
}

}  // namespace danaus::direct::inline DANAUS_BACKEND
