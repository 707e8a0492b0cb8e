// toeplitz: y = v * (conv(w * u, k) + bias) for 2 to 257 taps, by products of samples with Toeplitz blocks.
//
// source     the two-stage blocks of StripedHyena 2 (Ku et al. 2025, arXiv:2503.01868), y_i = T0 u_i + T1 u_(i-1),
//            taken to J blocks of 32 x 32, so that no more than 32 taps are zeros
// operands   A is samples: 16 lines, each a run of blocks of the same channel; B is the filter. Of its Toeplitz blocks
//            a lane's pairs of taps depend on tile of y - tile of u alone, of eight samples each, so that a product
//            takes two of 4 J - 1 words. Those of nothing but zeros are left out, four in 8 J
// index      the stream of u is `lead` samples ahead of y's, a multiple of 8, for taps that look ahead; arrange()
//            delays the taps by what is left of 8
// memory     u is read once, but for the halo of 32 (J - 1) samples before a stream; y takes its place in shared
//            memory, and is written once. [B, H, L]: a warp has a stream, by cp.async, the next one while it computes
//            where places are two. [B, L, H]: a block has those of 8 to 64 channels, which stmatrix transposes as they
//            come and ldmatrix as they go
// types      products exact, sums in fp32; the taps and y are rounded, and products with gates
// error      relative L2 at most u sqrt(2 + gates)
// nonfinite  samples show in the outputs of their taps alone: nonfinite.hpp
// reference  reference/short/direct.hpp   test   tests/kernels/short_test.cpp, causality_test.cpp
#pragma once

#include "kernels/families/toeplitz/layout.hpp"
#include "kernels/families/toeplitz/nonfinite.hpp"
#include "kernels/memory/stream.hpp"
#include "kernels/tile/bits.hpp"

namespace danaus::toeplitz::inline DANAUS_BACKEND {

template <Key key, Tuning tuning>
struct Shape {
  static constexpr Layout layout{key, tuning};
  static_assert(!layout.broken_rule(), "tunings.hpp has a line that Layout::broken_rule() refuses");
};

// A channel's filter: pairs of words by tile of y - tile of u. A word is in two pairs, and loaded for each, so that no
// product has to put its pair together.
template <class P>
class Filter {
 public:
  DANAUS_DEVICE Filter() {}
  DANAUS_DEVICE Filter(const Arguments& a, int channel) {
    const int lane = device::lane_index(), g = lane / 4, t = lane % 4;
    const std::uint32_t* words = a.filters + (2ll * channel + g % 2) * kWords<P> + 16 + g / 2 - t;
    DANAUS_UNROLL
    for (int d = 0; d < kPairs<P>; ++d) DANAUS_UNROLL
    for (int f = 0; f < 2; ++f) pairs_[d][f] = device::load_global<4>(words + 4 * (d - f))[0];
    bias_ = a.bias ? float_of(device::load_global<4>(a.bias + channel)[0]) : 0;
  }
  DANAUS_DEVICE float bias() const { return bias_; }
  // Whether taps are so many tiles before, and the pair.
  static DANAUS_DEVICE constexpr bool has(int apart) { return apart >= 0 && apart < kPairs<P>; }
  DANAUS_DEVICE const u32 (&pair(int apart) const)[2] { return pairs_[apart]; }

 private:
  u32 pairs_[kPairs<P>][2];
  float bias_;
};

// Convolves a stream in place. The warp's barrier is behind what loaded it, and to come before what reads it.
template <class P>
class Stream {
 public:
  DANAUS_DEVICE Stream(const StreamLayout& layout, SharedAddress begin, int turn)
      : layout_(layout), begin_(begin), turn_(turn) {}

  // Returns whether all samples are finite.
  DANAUS_DEVICE bool convolve(const Filter<P>& filter) const {
    float probe = 0;
    if constexpr (P::layout.tuning.lines)
      convolve_lines(filter, probe);
    else
      convolve_blocks(filter, probe);
    return device::max_of_warp(word_of(probe) << 1) == 0;
  }

 private:
  static constexpr Dtype T = P::layout.key.dtype;
  static constexpr int kBlocks = P::layout.key.blocks;
  using Samples = u32[2][4];  // of a block of every line, operands of two products
  using Sums = float[4][4];

  // Whole lines at once: nothing is written before all is read, and no samples stay in registers.
  DANAUS_DEVICE void convolve_lines(const Filter<P>& filter, float& probe) const {
    constexpr int kLine = P::layout.tuning.line;
    Sums y[kLine];
    DANAUS_UNROLL
    for (int r = 0; r < kLine; ++r) begin(y[r], filter);
    DANAUS_UNROLL
    for (int i = 1 - kBlocks; i < kLine; ++i) {
      Samples u;
      load(u, place(i));
      DANAUS_UNROLL
      for (int r = max(i, 0); r < min(i + kBlocks, kLine); ++r) add(y[r], filter, u, r - i);
    }
    DANAUS_UNROLL
    for (int r = 0; r < kLine; ++r) add_probes(probe, y[r], r == 0);
    device::sync_warp();  // what is to become y
    DANAUS_UNROLL
    for (int r = 0; r < kLine; ++r) store(y[r], place(r));
  }

  // Block by block of longer lines, with those before in registers.
  DANAUS_DEVICE void convolve_blocks(const Filter<P>& filter, float& probe) const {
    Samples history[kBlocks];  // of block i, [i mod J]
    DANAUS_UNROLL
    for (int j = 1; j < kBlocks; ++j) load(history[kBlocks - j], place(-j));
    device::sync_warp();  // another line's end, which is to become y
    const int count = 1 << layout_.shift;
    DANAUS_UNROLL_BY(1)
    for (int first = 0; first < count; first += kBlocks) DANAUS_UNROLL  // so that no register moves for history
    for (int phase = 0; phase < kBlocks; ++phase) {
      if (first + phase >= count) break;
      const SharedAddress at = place(first + phase);
      load(history[phase], at);
      Sums y;
      begin(y, filter);
      DANAUS_UNROLL
      for (int j = 0; j < kBlocks; ++j) add(y, filter, history[(phase - j + kBlocks) % kBlocks], j);
      add_probes(probe, y, phase == 0);
      store(y, at);
    }
  }

  // A lane has the matrix row of a line of the first or the second chunk of a half; the other half is 32 bytes away.
  DANAUS_DEVICE SharedAddress place(int block) const {
    const int lane = device::lane_index();
    return begin_ + (layout_.place(lane % 16, block, lane / 16) ^ turn_);
  }
  static DANAUS_DEVICE void load(Samples& u, SharedAddress from) {
    DANAUS_UNROLL
    for (int c = 0; c < 2; ++c) {
      const Words<4> words = device::load_matrices<4, false>(from ^ 32 * c);
      DANAUS_UNROLL
      for (int i = 0; i < 4; ++i) u[c][i] = words[i];
    }
  }
  static DANAUS_DEVICE void begin(Sums& y, const Filter<P>& filter) {
    DANAUS_UNROLL
    for (int q = 0; q < 4; ++q) y[q][0] = y[q][1] = y[q][2] = y[q][3] = filter.bias();
  }
  // Of samples that are some blocks before.
  static DANAUS_DEVICE void add(Sums& y, const Filter<P>& filter, const Samples& u, int before) {
    DANAUS_UNROLL
    for (int c = 0; c < 2; ++c) DANAUS_UNROLL
    for (int q = 0; q < 4; ++q)
      if (const int apart = 4 * before + q - 2 * c; filter.has(apart))
        device::mma_f32acc<T>(y[q], u[c], filter.pair(apart));
  }
  // The probe becomes NaN where a sum is not finite. A block's third tile of y meets all samples of the block, and its
  // first tile those of all blocks before.
  static DANAUS_DEVICE void add_probes(float& probe, const Sums& y, bool first) {
    DANAUS_UNROLL
    for (int i = 0; i < 4; i += 2) {
      probe += 0 * y[2][i];
      if (first) probe += 0 * y[0][i];
    }
    device::count_fp32(first ? 4 : 2);
  }
  static DANAUS_DEVICE void store(const Sums& y, SharedAddress to) {
    DANAUS_UNROLL
    for (int c = 0; c < 2; ++c) {
      Words<4> words;
      DANAUS_UNROLL
      for (int i = 0; i < 4; ++i) {
        const float(&of)[4] = y[2 * c + i / 2];
        words[i] = device::pack2<T>(of[2 * (i % 2)], of[2 * (i % 2) + 1]);
      }
      device::store_matrices<4, false>(to ^ 32 * c, words);
    }
  }

  StreamLayout layout_;
  SharedAddress begin_;
  int turn_;
};

template <class P>
DANAUS_DEVICE StreamLayout stream_layout(const Arguments& a) {
  return {P::layout.tuning.lines ? P::layout.line_bits : a.line, P::layout.halo};
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
  const StreamLayout layout = stream_layout<P>(a);
  const auto place = [&](long long number) {
    return (device::warp_index() * kPlaces + static_cast<int>((number - begin) % kPlaces)) * layout.bytes();
  };
  const auto load = [&](const StreamOfRow& at, long long number) {
    load_stream<T>(a.u, a.pregate, at.place, at.first + a.lead - kStreamBlock * layout.halo, a.transfer, layout,
                   place(number));
  };
  StreamOfRow at = stream_of_row(a, layout, begin);
  load(at, begin);
  int channel = at.channel;
  Filter<P> filter(a, channel);
  DANAUS_UNROLL_BY(1)
  for (long long number = begin; number < end; ++number) {
    StreamOfRow next = at;
    if (kPlaces > 1 && number + 1 < end) {
      next = stream_of_row(a, layout, number + 1);
      load(next, number + 1);
      device::copy_async_wait<1>();
    } else {
      device::copy_async_wait<0>();
    }
    device::sync_warp();
    if (at.channel != channel) {
      channel = at.channel;
      filter = Filter<P>(a, channel);
    }
    if (!Stream<P>(layout, place(number), 0).convolve(filter)) {
      convolve_nonfinite<P>(a, {a.u, a.pregate, at.place.begin, 1, at.place.first, at.place.last}, channel,
                            at.first + a.lead, layout, place(number), 0);
      filter = Filter<P>(a, channel);  // its registers were needed
    }
    device::sync_warp();
    store_stream<T>(a.y, a.postgate, at.place, at.first, a.transfer, layout, place(number));
    device::sync_warp();  // a place is loaded when its y has left
    at = next;
  }
}

// [B, L, H]: tiles of 8 `groups` channels, numbered along the channels, so that blocks of the same time share what lies
// together; then along the row and along the batch.
template <class P>
DANAUS_DEVICE void convolve_columns(const Arguments& a) {
  constexpr Dtype T = P::layout.key.dtype;
  constexpr int kGroups = P::layout.tuning.groups, kThreads = P::layout.threads;
  constexpr bool kAhead = P::layout.tuning.ahead;
  const int across = (a.channels + P::layout.streams - 1) / P::layout.streams;
  const int rest = device::block_index() / across, row = rest / a.tiles;
  const ColumnPlace at = {static_cast<long long>(row) * a.length * a.channels,
                          device::block_index() % across * P::layout.streams, a.channels, a.length};
  const StreamLayout layout = stream_layout<P>(a);
  const int first = rest % a.tiles * layout.samples();
  load_streams<T, kGroups, kThreads, P::layout.tuning.pieces>(
      a.u, a.pregate, at, first + a.lead - kStreamBlock * layout.halo, a.transfer, layout, 0);
  const int streams = min(P::layout.streams, a.channels - at.channel);
  const auto filter_of = [&](int s) { return Filter<P>(a, at.channel + min(s, streams - 1)); };
  int s = device::warp_index();
  Filter<P> next;
  if constexpr (kAhead) next = filter_of(s);
  device::sync_block();
  for (; s < streams; s += P::layout.tuning.warps) {
    const Filter<P> filter = kAhead ? next : filter_of(s);
    if constexpr (kAhead) next = filter_of(s + P::layout.tuning.warps);
    const int turn = turn_of<kGroups>(s);
    if (!Stream<P>(layout, s * layout.bytes(), turn).convolve(filter))
      convolve_nonfinite<P>(a, {a.u, a.pregate, at.begin + at.channel + s, a.channels, 0, a.length}, at.channel + s,
                            first + a.lead, layout, s * layout.bytes(), turn);
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
