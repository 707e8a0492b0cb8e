// short_gradient: dk[m] = sum over b and n of (v dy)[n] (w u)[n + A - m], and dbias = sum of v dy.
//
// operands   blocks of 16 samples of dy by blocks of u before them, contracted over lines: A [p][line] is sample p of a
//            block of dy, B [line][q] sample q of u, counted from 32 (J - 1) before that block; so the sums of a
//            diagonal are those of one lag, 32 (J - 1) + p - q. The next block of dy moves by 16 samples: of u two
//            chunks are new and the others known
// index      the stream of u is `lead` samples ahead of dy's, as toeplitz/kernel.hpp has it; tap m has lag m + delay
// memory     u and dy are read once, but for the halo of 32 (J - 1) samples before a stream
// types      products exact, sums in fp32; rounded are products with gates
// order      of a sum: within a part along the rows, then along the batch; then the parts. It repeats bit by bit
// error      relative L2 at most u sqrt(gates), and 2^-24 for each of a part's additions
// reference  reference/short/direct.hpp   test   tests/kernels/short_test.cpp
#pragma once

#include "kernels/families/short_gradient/layout.hpp"
#include "kernels/memory/stream.hpp"
#include "kernels/memory/tap_sums.hpp"
#include "kernels/tile/bits.hpp"

namespace danaus::short_gradient::inline DANAUS_BACKEND {

template <Key key, Tuning tuning>
struct Shape {
  static constexpr Layout layout{key, tuning};
  static_assert(!layout.broken_rule(), "tunings.hpp has a line that Layout::broken_rule() refuses");
};

// A warp's sums of a channel.
template <class P>
class Sums {
 public:
  DANAUS_DEVICE Sums() {
    DANAUS_UNROLL
    for (int i = 0; i < kTiles; ++i)
      for (int r = 0; r < 4; ++r) lags_[i][r] = 0;
    for (int r = 0; r < 4; ++r) all_[r] = 0;
  }

  DANAUS_DEVICE void add(int shift, SharedAddress u, SharedAddress dy, int turn) {
    constexpr u32 kOne = T == Dtype::f16 ? 0x3c003c00u : 0x3f803f80u, kOnes[2] = {kOne, kOne};
    const StreamLayout of_u{shift, layout.halo}, of_dy{shift, 0};
    // The matrix of eight lines and eight samples whose rows' addresses this lane gives.
    const int row = device::lane_index() % 8, first = device::lane_index() / 8 % 2, second = device::lane_index() / 16;
    u32 window[kTiles][2];
    const auto load_u = [&](int block, int half, u32(&low)[2], u32(&high)[2]) {
      const Words<4> words =
          device::load_matrices<4, true>(u + (of_u.place(row + 8 * first, block, 2 * half + second) ^ turn));
      low[0] = words[0], low[1] = words[1], high[0] = words[2], high[1] = words[3];
    };
    DANAUS_UNROLL
    for (int i = 0; i < 2 * layout.halo; ++i) load_u(i / 2 - layout.halo, i % 2, window[2 * i], window[2 * i + 1]);
    DANAUS_UNROLL_BY(1)
    for (int i = 0; i < 1 << shift; ++i) DANAUS_UNROLL
    for (int half = 0; half < 2; ++half) {
      load_u(i, half, window[kTiles - 2], window[kTiles - 1]);
      const Words<4> words =
          device::load_matrices<4, true>(dy + (of_dy.place(row + 8 * second, i, 2 * half + first) ^ turn));
      const u32 samples[4] = {words[0], words[1], words[2], words[3]};
      DANAUS_UNROLL
      for (int tile = 0; tile < kTiles; ++tile) device::mma_f32acc<T>(lags_[tile], samples, window[tile]);
      device::mma_f32acc<T>(all_, samples, kOnes);
      DANAUS_UNROLL
      for (int tile = 0; tile < kTiles - 2; ++tile)
        window[tile][0] = window[tile + 2][0], window[tile][1] = window[tile + 2][1];
    }
  }

  // Of diagonals the sums, by shared memory from `scratch` on that nobody else uses.
  DANAUS_DEVICE void store(const Arguments& a, int part, int channel, SharedAddress scratch) const {
    const int lane = device::lane_index(), g = lane / 4, t = lane % 4;
    const SharedAddress sums = scratch + 4 * 16 * 8, own = scratch + 32 * g + 8 * t;
    for (int m = lane; m < a.count; m += 32) device::store_shared<4>(sums + 4 * m, {0});
    DANAUS_UNROLL
    for (int tile = 0; tile < kTiles; ++tile) {
      store_tile(own, lags_[tile]);
      const int diagonal = lane - 7, m = 32 * layout.halo + diagonal - 8 * tile - a.delay;
      if (diagonal < 16 && m >= 0 && m < a.count) {
        float sum = float_of(device::load_shared<4>(sums + 4 * m)[0]);
        for (int p = max(diagonal, 0); p < min(diagonal + 8, 16); ++p)
          sum += float_of(device::load_shared<4>(scratch + 4 * (8 * p + p - diagonal))[0]);
        device::store_shared<4>(sums + 4 * m, {word_of(sum)});
      }
      device::sync_warp();
    }
    store_tile(own, all_);
    float* const to = sums_of(a, part, channel);
    for (int m = lane; m < a.count; m += 32) device::store_global<4>(to + m, device::load_shared<4>(sums + 4 * m));
    if (lane > 0) return;
    float sum = 0;
    for (int p = 0; p < 16; ++p) sum += float_of(device::load_shared<4>(scratch + 32 * p)[0]);
    device::store_global<4>(to + a.count, {word_of(sum)});
  }

 private:
  static constexpr Layout layout = P::layout;
  static constexpr Dtype T = layout.key.dtype;
  static constexpr int kTiles = layout.lag_tiles;

  static DANAUS_DEVICE void store_tile(SharedAddress own, const float (&tile)[4]) {
    for (int half = 0; half < 2; ++half)
      device::store_shared<8>(own + 256 * half, {word_of(tile[2 * half]), word_of(tile[2 * half + 1])});
    device::sync_warp();
  }

  float lags_[kTiles][4], all_[4];
};

DANAUS_DEVICE ItemRange streams_of(const Arguments& a, int part) {
  return items_of_part(static_cast<long long>(a.batch) * a.tiles, part, a.parts);
}

// [B, H, L]: a warp has a part of a channel.
template <class P>
DANAUS_DEVICE void correlate_rows(const Arguments& a) {
  constexpr Dtype T = P::layout.key.dtype;
  const long long item = static_cast<long long>(device::block_index()) * P::layout.tuning.warps + device::warp_index();
  if (item >= static_cast<long long>(a.channels) * a.parts) return;
  const int channel = static_cast<int>(item / a.parts), part = static_cast<int>(item % a.parts);
  const StreamLayout of_u{a.line, P::layout.halo}, of_dy{a.line, 0};
  const SharedAddress u = device::warp_index() * (of_u.bytes() + of_dy.bytes()), dy = u + of_u.bytes();
  const ItemRange streams = streams_of(a, part);
  Sums<P> sums;
  DANAUS_UNROLL_BY(1)
  for (int s = streams.first; s < streams.first + streams.count; ++s) {
    const long long begin = (static_cast<long long>(s / a.tiles) * a.channels + channel) * a.length;
    const int before = a.transfer == Transfer::element ? 0 : static_cast<int>(a.shift + begin) & 7;
    const RowPlace place = {begin - before, before, before + a.length};
    const int first = s % a.tiles * of_dy.samples();
    load_stream<T>(a.u, a.pregate, place, first + a.lead - kStreamBlock * of_u.halo, a.transfer, of_u, u);
    load_stream<T>(a.dy, a.postgate, place, first, a.transfer, of_dy, dy);
    device::copy_async_wait<0>();
    device::sync_warp();
    sums.add(a.line, u, dy, 0);
    device::sync_warp();
  }
  sums.store(a, part, channel, dy);
}

// [B, L, H]: a block has a part of as many channels as it has warps; the next block has those beside them.
template <class P>
DANAUS_DEVICE void correlate_columns(const Arguments& a) {
  constexpr Dtype T = P::layout.key.dtype;
  constexpr int kThreads = P::layout.threads, kWarps = P::layout.tuning.warps;
  constexpr int kGroups = kWarps / kGroupChannels, kPieces = P::layout.tuning.pieces;
  const int across = (a.channels + kWarps - 1) / kWarps, warp = device::warp_index();
  const int part = device::block_index() / across, channel = kWarps * (device::block_index() % across);
  const StreamLayout of_u{a.line, P::layout.halo}, of_dy{a.line, 0};
  const SharedAddress dy = kWarps * of_u.bytes();
  const ItemRange streams = streams_of(a, part);
  Sums<P> sums;
  DANAUS_UNROLL_BY(1)
  for (int s = streams.first; s < streams.first + streams.count; ++s) {
    const ColumnPlace at = {static_cast<long long>(s / a.tiles) * a.length * a.channels, channel, a.channels, a.length};
    const int first = s % a.tiles * of_dy.samples(), first_of_u = first + a.lead - kStreamBlock * of_u.halo;
    load_streams<T, kGroups, kThreads, kPieces>(a.u, a.pregate, at, first_of_u, a.transfer, of_u, 0);
    load_streams<T, kGroups, kThreads, kPieces>(a.dy, a.postgate, at, first, a.transfer, of_dy, dy);
    device::sync_block();
    sums.add(a.line, warp * of_u.bytes(), dy + warp * of_dy.bytes(), turn_of<kGroups>(warp));
    device::sync_block();
  }
  if (channel + warp < a.channels) sums.store(a, part, channel + warp, dy + warp * of_dy.bytes());
}

// A block has 32 sums, each of its warps some of their parts.
template <class P>
DANAUS_DEVICE void add_parts(const Arguments& a) {
  constexpr int kWarps = P::layout.tuning.warps;
  const int lane = device::lane_index(), warp = device::warp_index();
  const long long i = 32ll * device::block_index() + lane, count = static_cast<long long>(a.channels) * (a.count + 1);
  float sum = 0;
  if (i < count) DANAUS_UNROLL_BY(8)
  for (int part = warp; part < a.parts; part += kWarps)
    sum += float_of(device::load_global<4>(a.sums + part * count + i)[0]), device::count_fp32(1);
  device::store_shared<4>(4 * (32 * warp + lane), {word_of(sum)});
  device::sync_block();
  if (warp > 0 || i >= count) return;
  DANAUS_UNROLL
  for (int other = 1; other < kWarps; ++other) sum += float_of(device::load_shared<4>(4 * (32 * other + lane))[0]);
  const int channel = static_cast<int>(i / (a.count + 1)), m = static_cast<int>(i % (a.count + 1));
  if (m == a.count && !a.dbias) return;
  float* const to = m < a.count ? a.dk + static_cast<long long>(channel) * a.count + m : a.dbias + channel;
  device::store_global<4>(to, {word_of(sum)});
}

template <class P, Path path>
DANAUS_DEVICE void run(const Arguments& a) {
  device::let_next_grid_begin();
  device::wait_for_previous_grid();
  if constexpr (P::layout.key.total)
    add_parts<P>(a);
  else if constexpr (P::layout.key.channels_last)
    correlate_columns<P>(a);
  else
    correlate_rows<P>(a);
}

}  // namespace danaus::short_gradient::inline DANAUS_BACKEND
