// toeplitz: y = v * (conv(w * u, k) + bias) for 2 to 257 taps, by products of samples with Toeplitz blocks.
//
// source     the two-stage blocks of StripedHyena 2 (Ku et al. 2025, arXiv:2503.01868), y_i = T0 u_i + T1 u_(i-1),
// taken
//            to J blocks of 32 x 32, so that no more than 32 taps are zeros
// operands   A is samples: 16 lines, each a run of blocks of the same channel; B is the filter. A lane (g, t) has
// samples
//            8 t to 8 t + 7 of a block of lines g and g + 8, 16 bytes each, and gets the same ones of y:
//              k of product c   8 t + 4 c + 2 f + e    t and e of the fragment's lane and half, f of its register
//              n of tile q      8 t + 2 q + e
//            Of such places the difference depends on q - 2 c - f and the lane alone, so that the 16 registers of a
//            Toeplitz block are 7 different ones: all of 257 taps stay in 63 registers
// index      the stream of u is `lead` samples ahead of y's, a multiple of 8, for taps that look ahead; arrange()
// delays
//            the taps by what is left of 8
// memory     u is read once, but for the halo of 32 (J - 1) samples before a stream; y takes its place in shared
// memory,
//            and is written once. [B, H, L]: a warp has a stream, by cp.async, the next one while it computes
//            where places are two. [B, L, H]: a block has those of 8 to 64
//            channels, transposed as they come and go
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

// A channel's filter: of each block the registers by q - 2 c - f + 3.
template <class P>
class Filter {
 public:
  DANAUS_DEVICE Filter(const Arguments& a, int channel) {
    const int lane = device::lane_index(), g = lane / 4, t = lane % 4;
    const std::uint32_t* pairs = a.filters + (2ll * channel + g % 2) * kPairs + 16 + 4 * (g / 2 - t);
    DANAUS_UNROLL
    for (int j = 0; j < P::layout.key.blocks; ++j) DANAUS_UNROLL
    for (int r = -3; r <= 3; ++r) words_[j][r + 3] = device::load_global<4>(pairs + 16 * j + r)[0];
    bias_ = a.bias ? float_of(device::load_global<4>(a.bias + channel)[0]) : 0;
  }
  DANAUS_DEVICE float bias() const { return bias_; }
  DANAUS_DEVICE u32 word(int block, int q, int c, int f) const { return words_[block][q - 2 * c - f + 3]; }

 private:
  static constexpr int kPairs = pairs_of(P::layout.key.blocks);

  u32 words_[P::layout.key.blocks][7];
  float bias_;
};

// A block of a lane's two lines.
struct Lines {
  Words<4> of[2];
};

// Convolves a stream in place. The warp's barrier is behind what loaded it, and to come before what reads it.
template <class P>
DANAUS_DEVICE void convolve(const Filter<P>& filter, const StreamLayout& layout, SharedAddress stream, int turn) {
  constexpr Dtype T = P::layout.key.dtype;
  constexpr int kBlocks = P::layout.key.blocks;
  const int lane = device::lane_index(), g = lane / 4, t = lane % 4;
  const auto place = [&](int line, int block) { return stream + (layout.place(g + 8 * line, block, t) ^ turn); };
  Lines history[kBlocks];  // [j]: the block j before the current one
  DANAUS_UNROLL
  for (int j = 1; j < kBlocks; ++j)
    for (int line = 0; line < 2; ++line) history[j].of[line] = device::load_shared<16>(place(line, -j));
  device::sync_warp();  // another line's end, which is to become y
  DANAUS_UNROLL_BY(1)
  for (int i = 0; i < 1 << layout.shift; ++i) {
    for (int line = 0; line < 2; ++line) history[0].of[line] = device::load_shared<16>(place(line, i));
    float y[4][4];
    DANAUS_UNROLL
    for (int q = 0; q < 4; ++q) y[q][0] = y[q][1] = y[q][2] = y[q][3] = filter.bias();
    DANAUS_UNROLL
    for (int j = 0; j < kBlocks; ++j) DANAUS_UNROLL
    for (int c = 0; c < 2; ++c) {
      const Lines& u = history[j];
      const u32 samples[4] = {u.of[0][2 * c], u.of[1][2 * c], u.of[0][2 * c + 1], u.of[1][2 * c + 1]};
      DANAUS_UNROLL
      for (int q = 0; q < 4; ++q) {
        const u32 taps[2] = {filter.word(j, q, c, 0), filter.word(j, q, c, 1)};
        device::mma_f32acc<T>(y[q], samples, taps);
      }
    }
    Lines out;
    DANAUS_UNROLL
    for (int q = 0; q < 4; ++q)
      for (int line = 0; line < 2; ++line) out.of[line][q] = device::pack2<T>(y[q][2 * line], y[q][2 * line + 1]);
    for (int line = 0; line < 2; ++line) device::store_shared<16>(place(line, i), out.of[line]);
    DANAUS_UNROLL
    for (int j = kBlocks - 1; j > 0; --j) history[j] = history[j - 1];
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
