// toeplitz: y = v * (conv(w * u, k) + bias) for 2 to 257 taps, by products of samples with Toeplitz blocks.
//
// source     the two-stage blocks of StripedHyena 2 (Ku et al. 2025, arXiv:2503.01868), y_i = T0 u_i + T1 u_(i-1),
//            taken to J blocks of 32 x 32, so that no more than 32 taps are zeros
// operands   A is samples: 16 lines, each a run of blocks of the same channel; B is the filter. A lane (g, t) has
// samples
//            8 t to 8 t + 7 of a block of lines g and g + 8, 16 bytes each, and gets the same ones of y:
//              k of product c   8 t + 2 c + 4 f + e    t and e of the fragment's lane and half, f of its register
//              n of tile q      8 t + 2 q + e
//            Of such places the difference depends on q - c - 2 f and the lane alone, so that the 16 registers of a
//            Toeplitz block are 5 different pairs, as products take them: all of 257 taps stay in 90 registers
// index      the stream of u is `lead` samples ahead of y's, a multiple of 8, for taps that look ahead; arrange()
//            delays the taps by what is left of 8
// memory     u is read once, but for the halo of 32 (J - 1) samples before a stream; y takes its place in shared
//            memory, and is written once. [B, H, L]: a warp has a stream, by cp.async, the next one while it computes
//            where places are two. [B, L, H]: a block has those of 8 to 64 channels, transposed as they come and go
// types      products exact, sums in fp32; the taps and y are rounded, and products with gates
// error      relative L2 at most u sqrt(2 + gates)
// reference  reference/short/direct.hpp   test   tests/kernels/short_test.cpp
#pragma once

#include "kernels/families/toeplitz/layout.hpp"
#include "kernels/memory/stream.hpp"
#include "kernels/tile/bits.hpp"

namespace danaus::toeplitz::inline DANAUS_BACKEND {

template <Key key, Tuning tuning>
struct Shape {
  static constexpr Layout layout{key, tuning};
  static_assert(!layout.broken_rule(), "tunings.hpp has a line that Layout::broken_rule() refuses");
};

// A channel's filter: of each block the pairs of registers by q - c + 1. A word is in two pairs, and loaded for each,
// so that no product has to put its pair together.
template <class P>
class Filter {
 public:
  DANAUS_DEVICE Filter(const Arguments& a, int channel) {
    const int lane = device::lane_index(), g = lane / 4, t = lane % 4;
    const std::uint32_t* words = a.filters + (2ll * channel + g % 2) * kPairs + 16 + 4 * (g / 2 - t);
    DANAUS_UNROLL
    for (int j = 0; j < P::layout.key.blocks; ++j) DANAUS_UNROLL
    for (int r = -1; r <= 3; ++r) DANAUS_UNROLL
    for (int f = 0; f < 2; ++f) pairs_[j][r + 1][f] = device::load_global<4>(words + 16 * j + r - 2 * f)[0];
    bias_ = a.bias ? float_of(device::load_global<4>(a.bias + channel)[0]) : 0;
  }
  DANAUS_DEVICE float bias() const { return bias_; }
  DANAUS_DEVICE const u32 (&pair(int block, int q, int c) const)[2] { return pairs_[block][q - c + 1]; }

 private:
  static constexpr int kPairs = pairs_of(P::layout.key.blocks);

  u32 pairs_[P::layout.key.blocks][5][2];
  float bias_;
};

// Convolves a stream in place. The warp's barrier is behind what loaded it, and to come before what reads it.
template <class P>
DANAUS_DEVICE void convolve(const Filter<P>& filter, const StreamLayout& layout, SharedAddress stream, int turn) {
  constexpr Dtype T = P::layout.key.dtype;
  constexpr int kBlocks = P::layout.key.blocks;
  const int lane = device::lane_index(), g = lane / 4, t = lane % 4;
  const auto place = [&](int line, int block) { return stream + (layout.place(g + 8 * line, block, t) ^ turn); };
  // Of a block of the lane's two lines, operands of both products.
  const auto load = [&](u32(&u)[2][4], int block) {
    const Words<4> lines[2] = {device::load_shared<16>(place(0, block)), device::load_shared<16>(place(1, block))};
    DANAUS_UNROLL
    for (int c = 0; c < 2; ++c) DANAUS_UNROLL
    for (int i = 0; i < 4; ++i) u[c][i] = lines[i % 2][c + i / 2 * 2];
  };
  u32 history[kBlocks][2][4];  // of block i, [i mod J]
  DANAUS_UNROLL
  for (int j = 1; j < kBlocks; ++j) load(history[kBlocks - j], -j);
  device::sync_warp();  // another line's end, which is to become y
  const int count = 1 << layout.shift;
  DANAUS_UNROLL_BY(1)
  for (int first = 0; first < count; first += kBlocks) DANAUS_UNROLL  // so that no register moves for history
  for (int phase = 0; phase < kBlocks; ++phase) {
    const int i = first + phase;
    if (i >= count) break;
    load(history[phase], i);
    float y[4][4];
    DANAUS_UNROLL
    for (int q = 0; q < 4; ++q) y[q][0] = y[q][1] = y[q][2] = y[q][3] = filter.bias();
    DANAUS_UNROLL
    for (int j = 0; j < kBlocks; ++j) DANAUS_UNROLL
    for (int c = 0; c < 2; ++c) DANAUS_UNROLL
    for (int q = 0; q < 4; ++q)
      device::mma_f32acc<T>(y[q], history[(phase - j + kBlocks) % kBlocks][c], filter.pair(j, q, c));
    DANAUS_UNROLL
    for (int line = 0; line < 2; ++line) {
      Words<4> out;
      DANAUS_UNROLL
      for (int q = 0; q < 4; ++q) out[q] = device::pack2<T>(y[q][2 * line], y[q][2 * line + 1]);
      device::store_shared<16>(place(line, i), out);
    }
  }
}

// [B, H, L]: streams are numbered along a row, then along the batch, then along the channels. A warp has a run of them;
// while it computes one the next comes, into the place that was written last.
struct StreamOfRow {
  int channel, first;  // sample
  RowPlace place;
};
DANAUS_DEVICE StreamOfRow stream_of_row(const Arguments& a, const StreamLayout& layout, long long number) {
  const long long row = number / a.tiles;
  const int channel = static_cast<int>(row / a.batch);
  const long long begin = (row % a.batch * a.channels + channel) * a.length;
  const int before = a.transfer == Transfer::element ? 0 : static_cast<int>(a.shift + begin) & 7;
  return {channel, static_cast<int>(number % a.tiles) * layout.samples(), {begin - before, before, before + a.length}};
}

template <class P>
DANAUS_DEVICE void convolve_rows(const Arguments& a) {
  constexpr Dtype T = P::layout.key.dtype;
  constexpr int kPlaces = P::layout.places;
  const long long worker =
      static_cast<long long>(device::block_index()) * P::layout.tuning.warps + device::warp_index();
  const long long begin = worker * a.run,
                  end = min(begin + (kPlaces > 1 ? a.run : 1), 1ll * a.batch * a.channels * a.tiles);
  if (begin >= end) return;
  const StreamLayout layout{a.line, P::layout.halo};
  const auto place = [&](long long number) {
    return (device::warp_index() * kPlaces + static_cast<int>((number - begin) % kPlaces)) * layout.bytes();
  };
  const auto load = [&](long long number) {
    const StreamOfRow at = stream_of_row(a, layout, number);
    load_stream<T>(a.u, a.pregate, at.place, at.first + a.lead - kStreamBlock * layout.halo, a.transfer, layout,
                   place(number));
  };
  load(begin);
  int channel = stream_of_row(a, layout, begin).channel;
  Filter<P> filter(a, channel);
  DANAUS_UNROLL_BY(1)
  for (long long number = begin; number < end; ++number) {
    const StreamOfRow at = stream_of_row(a, layout, number);
    if (kPlaces > 1 && number + 1 < end) {
      load(number + 1);
      device::copy_async_wait<1>();
    } else {
      device::copy_async_wait<0>();
    }
    device::sync_warp();
    if (at.channel != channel) {
      channel = at.channel;
      filter = Filter<P>(a, channel);
    }
    convolve<P>(filter, layout, place(number), 0);
    device::sync_warp();
    store_stream<T>(a.y, a.postgate, at.place, at.first, a.transfer, layout, place(number));
    device::sync_warp();  // a place is loaded when its y has left
  }
}

// [B, L, H]: tiles of 8 `groups` channels, likewise numbered.
template <class P>
DANAUS_DEVICE void convolve_columns(const Arguments& a) {
  constexpr Dtype T = P::layout.key.dtype;
  constexpr int kGroups = P::layout.tuning.groups, kThreads = P::layout.threads;
  const int tile = device::block_index() % a.tiles, row = device::block_index() / a.tiles;
  const ColumnPlace at = {static_cast<long long>(row % a.batch) * a.length * a.channels,
                          row / a.batch * P::layout.streams, a.channels, a.length};
  const StreamLayout layout{a.line, P::layout.halo};
  const int first = tile * layout.samples();
  load_streams<T, kGroups, kThreads>(a.u, a.pregate, at, first + a.lead - kStreamBlock * layout.halo, a.transfer,
                                     layout, 0);
  device::sync_block();
  for (int s = device::warp_index(); s < P::layout.streams && at.channel + s < a.channels;
       s += P::layout.tuning.warps) {
    const Filter<P> filter(a, at.channel + s);
    convolve<P>(filter, layout, s * layout.bytes(), turn_of<kGroups>(s / 8));
  }
  device::sync_block();
  store_streams<T, kGroups, kThreads>(a.y, a.postgate, at, first, a.transfer, layout, 0);
}

template <class P, Path path>
DANAUS_DEVICE void run(const Arguments& a) {
  device::let_next_grid_begin();
  device::wait_for_previous_grid();
  if constexpr (P::layout.key.channels_last)
    convolve_columns<P>(a);
  else
    convolve_rows<P>(a);
}

}  // namespace danaus::toeplitz::inline DANAUS_BACKEND
