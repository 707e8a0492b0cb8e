// fused_exchange: y = v * conv(w * u, k) with one exchange through shared memory each way, N = 64 r x columns.
//
// source     FlashFFTConv's order-p convolution (Fu et al. 2023, algorithm 3) with radix-8 stages of one mma each
// index      n = columns (64 nr + 8 n1 + n2) + 64 ns + 8 n3 + n4   k = kr + r (k1 + 8 k2) + 64 r (ks + S (k3 + 8 k4))
//            nr, kr < r; ns, ks < S = columns / 64, or 1; n1, n2, n4, k1, k2, k4 < 8; n3, k3 < min(columns, 64) / 8
// shapes     u, y, gates [B, H, L], L <= N; one block takes two batch rows (pair fold) or one row (right angle)
// types      storage f16 or bf16; f16 rounds every product of matrices to f16, bf16 accumulates a stage in f32
// scaling    unitary up to a power of two; the power is in the DFT matrices and twiddles, the rest in the spectrum
// steps      A  one 16-byte column of samples (8 n4) over all 64 r rows a unit: radix r | twiddle | DFT8 n1 | twiddle |
//               DFT8 n2 | twiddle, in place
//            B  one row of columns a unit: radix S | twiddle | DFT8 n3 | twiddle | DFT8 n4 | spectrum | and back
//            A  back
// memory     a slab holds 64 columns of both rows; line nr 8 + n1 + 8 r n2 (128 bytes), its 16-byte chunk c at c ^ n1.
//            After step A, k2 stands where n1 was and k1 where n2 was, so that every step works in place.
// resources  a block barrier between steps; one unit of step A for each warp and pass
// error      bound_l2_of_roundings(dtype, roundings): kernels/variants.hpp
// reference  reference/convolution.hpp   test   tests/kernels/fused_test.cpp
#pragma once

#include "kernels/device/tile.hpp"
#include "kernels/transfer.hpp"

namespace danaus::inline DANAUS_BACKEND {

template <Dtype type, Fold fold, bool gated, int radix, int columns, int warps, int ring, int blocks_per_sm>
struct FusedExchange {
  static constexpr Dtype kType = type;
  static constexpr bool kPair = fold == Fold::pair;
  static constexpr bool kGated = gated;
  static constexpr int kRadix = radix, kColumns = columns, kWarps = warps, kRing = ring, kBlocksPerSm = blocks_per_sm;
  static constexpr int kThreads = 32 * warps;
  static constexpr int kSize = 64 * radix * columns;
  static_assert(columns == 8 || columns == 16 || columns == 32 || columns % 64 == 0);

  static constexpr int kSlabs = columns <= 64 ? 1 : columns / 64;
  static constexpr int kSlabColumns = columns / kSlabs, kSlabOffset = 64;
  static constexpr int kColumnChunks = kSlabColumns / 8;        // 16-byte chunks of one row n_hi in a slab
  static constexpr int kRowsPerLine = 8 / kColumnChunks;        // rows n2 that share a line of 128 bytes
  static constexpr int kRowBytes = 128 * radix * kSlabColumns;  // 64 r rows of kSlabColumns samples
  static constexpr int kSlabBytes = 2 * kRowBytes;
  static constexpr int kChunks = kRowBytes / 16;
  static_assert(kSlabBytes % 1024 == 0);

  static constexpr int kUnits = kSlabs * kColumnChunks;         // of step A
  static constexpr int kUnitsPerWarp = kUnits / warps;
  static_assert(kUnits % warps == 0, "every warp takes the same number of columns, always the same ones");
  static constexpr int kLines = kSlabBytes / 256;               // of step B: lines of a slab, two rows (re, im) each
  static constexpr int kLinePairsPerWarp = kLines / 2 / warps;
  static_assert(kLines % (2 * warps) == 0);
  // Line pairs in flight: 16 registers of data as in step A.
  static constexpr int kLinePairsAtOnce = kLinePairsPerWarp % (4 / kSlabs > 0 ? 4 / kSlabs : 1) == 0 ? (4 / kSlabs > 0 ? 4 / kSlabs : 1) : 1;

  // 16-byte chunk number (line, chunk of the line) <-> first sample; the line is 8 nr + n1 + 8 r (n2 / kRowsPerLine).
  static DANAUS_DEVICE int sample_of(int chunk) {
    const int line = chunk / 8, c = chunk % 8;
    const int row = line % (8 * radix) * 8 + line / (8 * radix) * kRowsPerLine + c / kColumnChunks;
    return row * columns + c % kColumnChunks * 8;
  }
  static DANAUS_DEVICE int chunk_address(int row, int chunk) { return row * kRowBytes + 16 * (chunk ^ (chunk / 8 % 8)); }
  static DANAUS_DEVICE void locate(int chunk_of_row, int& slab, int& chunk) {
    const int row = chunk_of_row / (columns / 8), column = chunk_of_row % (columns / 8);
    slab = column / kColumnChunks;
    const int line = row / 8 + 8 * radix * (row % 8 / kRowsPerLine);
    chunk = 8 * line + row % 8 % kRowsPerLine * kColumnChunks + column % kColumnChunks;
  }
  static DANAUS_DEVICE void tensor_at(Item item, int slab, int (&at)[5]) {
    at[0] = 64 * slab, at[1] = at[2] = 0, at[3] = item.channel, at[4] = item.row;
  }

  // Tables, in vectors of four words a lane unless said otherwise.
  static constexpr int kMatrices = 4;                            // DFT8 n1, DFT8 n2, DFT n3, DFT8 n4
  static constexpr int kTwiddles = 1;                            // w64 in step A and w_B in step B: one vector
  static constexpr int kOuterVectors = (radix + 1) / 2;          // w_{64 r}^(kr (8 n1 + n2)), two kr a vector
  static constexpr int kSplitVectors = 4 * radix;                // per unit: w_N^(n_lo k_hi) at (kr, n4), two n4 a vector
  static constexpr int kSlabVectors = (kSlabs + 1) / 2;          // w_{64 S}^(ks (8 n3 + n4)), two ks a vector
  static constexpr int kWeightVectors = 1;                       // right angle: exp(i pi columns (8 n1 + n2) / 2N); w_B the other way
  static constexpr int kOuterAt = kMatrices + kTwiddles;
  static constexpr int kSlabAt = kOuterAt + kOuterVectors;
  static constexpr int kWeightAt = kSlabAt + kSlabVectors;
  static constexpr int kSplitAt = kWeightAt + kWeightVectors;
  static constexpr int kRadixWeightAt = 128 * (kSplitAt + kUnits * kSplitVectors);  // words: exp(i pi 64 columns nr / 2N)
  static constexpr int kTableWords = kRadixWeightAt + 2 * radix;

  static_assert(kRowBytes % 1024 == 0, "both rows are swizzled alike");
  static constexpr int kBarrierBytes = 1024;
  static constexpr int kSharedBytes = kBarrierBytes + ring * kSlabBytes;
  // What stays in registers: the split twiddles where a warp has few of them, the spectrum likewise.
  static constexpr bool kSplitInRegisters = kUnitsPerWarp * radix <= 1;
  static constexpr bool kSpectrumInRegisters = kLinePairsPerWarp * kSlabs <= 4;
};

template <int threads>
struct BlockWorker {
  static constexpr int kThreads = threads;
  static DANAUS_DEVICE int index() { return device::thread_index(); }
  static DANAUS_DEVICE void sync() { device::sync_block(); }
};

namespace exchange {

template <class P>
struct Constants {
  Matrix8 n1, n2, n3, n4;
  Complex2 a;              // twiddle of the 64-point DFT of step A; symmetric
  Complex2 b, b_back;      // of step B, rows n4 and columns k3, and the other way round
  Complex2 outer[P::kRadix], slab[P::kSlabs];
  Complex2 weight;         // right angle, rows n1 = 2t+e, n2 = g
  Complex2 radix_weight[P::kRadix];
};

// Step A works on chunk column `unit`: for each nr two 16-byte loads a row give the 8 samples n4 of n1 = 2t and 2t+1 at
// n2 = g. Where rows g and g + 1 are not neighbours in one line, odd g take n1 = 2t+1 first: eight lanes then read eight
// different chunks.
template <class P>
struct Column {
  SharedAddress address[2];
  u32 low, high;            // byte selectors: (first, second) -> pairs of the low halves, of the high halves
  bool swapped;
  DANAUS_DEVICE explicit Column(int chunk) {
    const int lane = device::lane_index(), g = lane / 4, t = lane % 4;
    swapped = P::kRowsPerLine < 8 && g % 2 == 1;
    DANAUS_UNROLL for (int b = 0; b < 2; ++b) {
      const int n1 = 2 * t + (swapped ? 1 - b : b);
      const int line = n1 + 8 * P::kRadix * (g / P::kRowsPerLine);
      address[b] = P::chunk_address(0, 8 * line + g % P::kRowsPerLine * P::kColumnChunks + chunk);
    }
    low = swapped ? 0x1054 : 0x5410;
    high = swapped ? 0x3276 : 0x7632;
  }
  // tiles[n4]: one register of each of the eight tiles.
  DANAUS_DEVICE void unpack(Words<4> first, Words<4> second, u32 (&tiles)[8]) const {
    DANAUS_UNROLL for (int i = 0; i < 4; ++i) {
      tiles[2 * i] = device::permute_bytes(first[i], second[i], low);
      tiles[2 * i + 1] = device::permute_bytes(first[i], second[i], high);
    }
  }
  DANAUS_DEVICE void pack(const u32 (&tiles)[8], Words<4>& first, Words<4>& second) const {
    const u32 one = swapped ? 0x7632 : 0x5410, two = swapped ? 0x5410 : 0x7632;
    DANAUS_UNROLL for (int i = 0; i < 4; ++i) {
      first[i] = device::permute_bytes(tiles[2 * i], tiles[2 * i + 1], one);
      second[i] = device::permute_bytes(tiles[2 * i], tiles[2 * i + 1], two);
    }
  }
  DANAUS_DEVICE void load(SharedAddress row, int nr, u32 (&tiles)[8]) const {
    unpack(device::load_shared<16>(row + 1024 * nr + address[0]), device::load_shared<16>(row + 1024 * nr + address[1]), tiles);
  }
  DANAUS_DEVICE void store(SharedAddress row, int nr, const u32 (&tiles)[8]) const {
    Words<4> first, second;
    pack(tiles, first, second);
    device::store_shared<16>(row + 1024 * nr + address[0], first);
    device::store_shared<16>(row + 1024 * nr + address[1], second);
  }
};

// Multiplies the samples of a column by a gate that is read from global memory.
template <class P>
DANAUS_DEVICE void apply_gate(const FusedArguments& a, const void* gate, Item item, int unit, int nr, const Column<P>& column,
                              u32 (&re)[8], u32 (&im)[8]) {
  const int lane = device::lane_index(), g = lane / 4, t = lane % 4;
  DANAUS_UNROLL for (int row = 0; row < (P::kPair ? 2 : 1); ++row) {
    if (item.row + row >= a.batch) break;
    Words<4> words[2];
    DANAUS_UNROLL for (int b = 0; b < 2; ++b) {
      const int n1 = 2 * t + (column.swapped ? 1 - b : b);
      const int n = (64 * nr + 8 * n1 + g) * P::kColumns + 8 * unit;
      words[b] = n < a.length ? load_chunk(gate, row_offset<P>(a, item.row + row, item.channel), n, a.length, a.transfer) : Words<4>{};
    }
    u32 tiles[8];
    column.unpack(words[0], words[1], tiles);
    DANAUS_UNROLL for (int i = 0; i < 8; ++i) {
      u32& value = row == 0 ? re[i] : im[i];
      value = device::mul2<P::kType>(value, tiles[i]);
    }
  }
}

template <class P, bool inverse>
DANAUS_DEVICE void radix_over_rows(Complex2 (&x)[P::kRadix][8]) {
  DANAUS_UNROLL for (int i = 0; i < 8; ++i) {
    Complex2 column[P::kRadix];
    DANAUS_UNROLL for (int r = 0; r < P::kRadix; ++r) column[r] = x[r][i];
    radix_dft<P::kType, P::kRadix, inverse>(column);
    DANAUS_UNROLL for (int r = 0; r < P::kRadix; ++r) x[r][i] = column[r];
  }
}

template <class P, bool inverse>
DANAUS_DEVICE void split_twiddles(Complex2 (&x)[8], const u32* tables, int unit, int kr, const Words<4> (&held)[4]) {
  DANAUS_UNROLL for (int i = 0; i < 4; ++i) {
    const Words<4> w = P::kSplitInRegisters ? held[i] : load_lane_words(tables, P::kSplitAt + unit * P::kSplitVectors + 4 * kr + i);
    DANAUS_UNROLL for (int b = 0; b < 2; ++b) x[2 * i + b] = times<P::kType, inverse>(x[2 * i + b], {w[2 * b], w[2 * b + 1]});
  }
}

// Step A on one unit, in place.
template <class P>
DANAUS_DEVICE void transform_column(const FusedArguments& a, Item item, SharedAddress slab, int unit, const Constants<P>& c,
                                    const Words<4> (&held)[4]) {
  constexpr Dtype T = P::kType;
  const Column<P> column(unit % P::kColumnChunks);
  Complex2 x[P::kRadix][8];
  DANAUS_UNROLL for (int nr = 0; nr < P::kRadix; ++nr) {
    u32 re[8], im[8];
    column.load(slab, nr, re);
    if constexpr (P::kPair) column.load(slab + P::kRowBytes, nr, im);
    if constexpr (P::kGated)
      if (a.pregate) apply_gate<P>(a, a.pregate, item, unit, nr, column, re, im);
    DANAUS_UNROLL for (int i = 0; i < 8; ++i) {
      if constexpr (P::kPair) x[nr][i] = {re[i], im[i]};
      else x[nr][i] = {device::mul2<T>(re[i], c.radix_weight[nr].re), device::mul2<T>(re[i], c.radix_weight[nr].im)};
    }
  }
  radix_over_rows<P, false>(x);
  DANAUS_UNROLL for (int kr = 0; kr < P::kRadix; ++kr) {
    DANAUS_UNROLL for (int i = 0; i < 8; ++i) {
      Complex2& z = x[kr][i];
      if (kr > 0) z = times<T, false>(z, c.outer[kr]);
      if constexpr (!P::kPair) z = times<T, false>(z, c.weight);
      z = times<T, false>(from_right<T, false>(c.n1, z), c.a);
    }
    DANAUS_UNROLL for (int i = 0; i < 8; i += 2) from_left<T, false>(c.n2, x[kr][i], x[kr][i + 1]);
    split_twiddles<P, false>(x[kr], a.tables, unit, kr, held);
    u32 re[8], im[8];
    DANAUS_UNROLL for (int i = 0; i < 8; ++i) re[i] = x[kr][i].re, im[i] = x[kr][i].im;
    column.store(slab, kr, re);
    column.store(slab + P::kRowBytes, kr, im);
  }
}

template <class P>
DANAUS_DEVICE void transform_column_back(const FusedArguments& a, Item item, SharedAddress slab, int unit, const Constants<P>& c,
                                         const Words<4> (&held)[4]) {
  constexpr Dtype T = P::kType;
  const Column<P> column(unit % P::kColumnChunks);
  Complex2 x[P::kRadix][8];
  DANAUS_UNROLL for (int kr = 0; kr < P::kRadix; ++kr) {
    u32 re[8], im[8];
    column.load(slab, kr, re);
    column.load(slab + P::kRowBytes, kr, im);
    DANAUS_UNROLL for (int i = 0; i < 8; ++i) x[kr][i] = {re[i], im[i]};
    split_twiddles<P, true>(x[kr], a.tables, unit, kr, held);
    DANAUS_UNROLL for (int i = 0; i < 8; ++i) x[kr][i] = times<T, true>(from_right<T, true>(c.n2, x[kr][i]), c.a);
    DANAUS_UNROLL for (int i = 0; i < 8; i += 2) from_left<T, true>(c.n1, x[kr][i], x[kr][i + 1]);
    DANAUS_UNROLL for (int i = 0; i < 8; ++i) {
      Complex2& z = x[kr][i];
      if constexpr (!P::kPair) z = times<T, true>(z, c.weight);
      if (kr > 0) z = times<T, true>(z, c.outer[kr]);
    }
  }
  radix_over_rows<P, true>(x);
  DANAUS_UNROLL for (int nr = 0; nr < P::kRadix; ++nr) {
    u32 re[8], im[8];
    DANAUS_UNROLL for (int i = 0; i < 8; ++i) {
      re[i] = P::kPair ? x[nr][i].re : real_times_conjugate<T>(x[nr][i], c.radix_weight[nr]);
      im[i] = P::kPair ? x[nr][i].im : imaginary_times_conjugate<T>(x[nr][i], c.radix_weight[nr]);
    }
    if constexpr (P::kGated)
      if (a.postgate && !a.wrap) apply_gate<P>(a, a.postgate, item, unit, nr, column, re, im);
    column.store(slab, nr, re);
    if (P::kPair || a.wrap) column.store(slab + P::kRowBytes, nr, im);
  }
}

// Step B on the line pairs from `first` on, lines 2 pair and 2 pair + 1 of every slab, in place. Several pairs at a time give
// a warp independent work while one waits for its loads and products.
template <class P, class SlabAt>
DANAUS_DEVICE void convolve_lines(SlabAt slab_at, int first, const Constants<P>& c, const u32* spectrum, const Words<4>* held) {
  constexpr Dtype T = P::kType;
  constexpr int kPairs = P::kLinePairsAtOnce;
  const int lane = device::lane_index(), matrix = lane / 8, row = lane % 8;
  // Matrices re and im of line 2 pair, re and im of the next one.
  SharedAddress at[kPairs];
  Complex2 x[kPairs][2][P::kSlabs];
  DANAUS_UNROLL for (int p = 0; p < kPairs; ++p) {
    at[p] = P::chunk_address(matrix % 2, 8 * (2 * (first + p) + matrix / 2) + row);
    DANAUS_UNROLL for (int s = 0; s < P::kSlabs; ++s) {
      const Words<4> w = device::load_matrices<4, true>(slab_at(s) + at[p]);
      x[p][0][s] = {w[0], w[1]}, x[p][1][s] = {w[2], w[3]};
    }
  }
  DANAUS_UNROLL for (int p = 0; p < kPairs; ++p)
    DANAUS_UNROLL for (int line = 0; line < 2; ++line) {
      radix_dft<T, P::kSlabs, false>(x[p][line]);
      DANAUS_UNROLL for (int s = 0; s < P::kSlabs; ++s) {
        Complex2& z = x[p][line][s];
        if (s > 0) z = times<T, false>(z, c.slab[s]);
        z = times<T, false>(from_right<T, false>(c.n3, z), c.b);
      }
    }
  DANAUS_UNROLL for (int p = 0; p < kPairs; ++p)
    DANAUS_UNROLL for (int s = 0; s < P::kSlabs; ++s) {
      from_left<T, false>(c.n4, x[p][0][s], x[p][1][s]);
      const Words<4> w = P::kSpectrumInRegisters ? held[p * P::kSlabs + s] : load_lane_words(spectrum, (first + p) * P::kSlabs + s);
      DANAUS_UNROLL for (int line = 0; line < 2; ++line) {
        Complex2& z = x[p][line][s];
        z = times<T, false>(z, {w[2 * line], w[2 * line + 1]});
        z = times<T, true>(from_right<T, true>(c.n4, z), c.b_back);
      }
    }
  DANAUS_UNROLL for (int p = 0; p < kPairs; ++p) {
    DANAUS_UNROLL for (int s = 0; s < P::kSlabs; ++s) from_left<T, true>(c.n3, x[p][0][s], x[p][1][s]);
    DANAUS_UNROLL for (int line = 0; line < 2; ++line) {
      DANAUS_UNROLL for (int s = 1; s < P::kSlabs; ++s) x[p][line][s] = times<T, true>(x[p][line][s], c.slab[s]);
      radix_dft<T, P::kSlabs, true>(x[p][line]);
    }
    DANAUS_UNROLL for (int s = 0; s < P::kSlabs; ++s)
      device::store_matrices<4, true>(slab_at(s) + at[p], Words<4>{x[p][0][s].re, x[p][0][s].im, x[p][1][s].re, x[p][1][s].im});
  }
}

template <class P>
DANAUS_DEVICE Matrix8 load_matrix8(const u32* tables, int number) {
  const Words<4> w = load_lane_words(tables, number);
  return {w[0], w[1], w[2], w[3]};
}

template <class P>
DANAUS_DEVICE void load_constants(const u32* tables, Constants<P>& c) {
  c.n1 = load_matrix8<P>(tables, 0), c.n2 = load_matrix8<P>(tables, 1);
  c.n3 = load_matrix8<P>(tables, 2), c.n4 = load_matrix8<P>(tables, 3);
  const Words<4> twiddles = load_lane_words(tables, P::kMatrices);
  c.a = {twiddles[0], twiddles[1]}, c.b = {twiddles[2], twiddles[3]};
  DANAUS_UNROLL for (int i = 0; i < P::kRadix; ++i) {
    const Words<4> w = load_lane_words(tables, P::kOuterAt + i / 2);
    c.outer[i] = {w[i % 2 * 2], w[i % 2 * 2 + 1]};
    const Words<2> v = device::load_global<8>(tables + P::kRadixWeightAt + 2 * i);
    c.radix_weight[i] = {v[0], v[1]};
  }
  DANAUS_UNROLL for (int i = 0; i < P::kSlabs; ++i) {
    const Words<4> w = load_lane_words(tables, P::kSlabAt + i / 2);
    c.slab[i] = {w[i % 2 * 2], w[i % 2 * 2 + 1]};
  }
  const Words<4> weight = load_lane_words(tables, P::kWeightAt);
  c.weight = {weight[0], weight[1]}, c.b_back = {weight[2], weight[3]};
}

}  // namespace exchange

template <class P, Path path = Path::any>
DANAUS_DEVICE void fused_exchange(const FusedArguments& a) {
  using namespace exchange;
  using Worker = BlockWorker<P::kThreads>;
  constexpr Dtype T = P::kType;
  const int warp = device::warp_index();
  const bool tensor = path == Path::any ? a.transfer == Transfer::tensor : path == Path::tensor;
  const bool leader = device::thread_index() == 0;  // issues the tensor copies
  const long long items = static_cast<long long>(P::kPair ? (a.batch + 1) / 2 : a.batch) * a.channels;
  const int first = static_cast<int>(items * device::block_index() / device::block_count());
  const int count = static_cast<int>(items * (device::block_index() + 1) / device::block_count()) - first;

  if (leader && tensor)
    for (int i = 0; i < P::kRing; ++i) device::barrier_init(8 * i, 1);
  device::fence_async();
  device::sync_block();

  Constants<P> c;
  load_constants<P>(a.tables, c);
  Words<4> split[4];
  DANAUS_UNROLL for (int i = 0; i < 4; ++i)
    if constexpr (P::kSplitInRegisters) split[i] = load_lane_words(a.tables, P::kSplitAt + warp * P::kSplitVectors + i);
  constexpr int kHeld = P::kSpectrumInRegisters ? P::kLinePairsPerWarp * P::kSlabs : 1;
  Words<4> held[kHeld];
  int held_channel = -1;

  // Slab number s of all that this block computes lives at place s mod kRing; `fetched` of them have been asked for.
  const auto place_address = [](int place) -> SharedAddress { return P::kBarrierBytes + place * P::kSlabBytes; };
  const int slabs = count * P::kSlabs;
  int fetched = 0, fetch_place = 0, fetch_slab_index = 0;
  Item fetch_item = item_at<P>(a, first);
  const auto fetch_until = [&](int limit) {
    for (; fetched < limit; ++fetched) {
      const SharedAddress barrier = 8 * fetch_place;
      if (tensor) device::barrier_expect(barrier, (P::kPair ? 2 : 1) * P::kRowBytes);
      fetch_slab<P, Worker>(a, tensor, a.u_map, a.u, fetch_item, fetch_slab_index, place_address(fetch_place), barrier);
      if (++fetch_place == P::kRing) fetch_place = 0;
      if (++fetch_slab_index == P::kSlabs) fetch_slab_index = 0, advance<P, 1>(a, fetch_item);
    }
  };
  if (!tensor || leader) fetch_until(min(slabs, P::kRing));
  device::copy_async_commit();

  Item item = item_at<P>(a, first);
  int place = 0;       // of the item's first slab
  u32 parity = 0;      // of that place's barrier
  for (int number = 0; number < count; ++number) {
    const auto wrapped = [&](int s) { return place + s >= P::kRing; };
    const auto slab_at = [&](int s) { return place_address(wrapped(s) ? place + s - P::kRing : place + s); };
    const u32* spectrum = a.spectrum + static_cast<long long>(item.channel) * P::kSize;
    if (!tensor) {
      device::copy_async_wait<0>();
      device::sync_block();
    }
    if constexpr (P::kSpectrumInRegisters)
      if (item.channel != held_channel) {
        held_channel = item.channel;
        DANAUS_UNROLL for (int i = 0; i < kHeld; ++i) held[i] = load_lane_words(spectrum, warp * kHeld + i);
      }

    DANAUS_UNROLL for (int j = 0; j < P::kUnitsPerWarp; ++j) {
      const int unit = warp + P::kWarps * j, s = unit / P::kColumnChunks;
      if (tensor) device::barrier_wait(8 * (wrapped(s) ? place + s - P::kRing : place + s), parity ^ wrapped(s));
      transform_column<P>(a, item, slab_at(s), unit, c, split);
      // Places of earlier items are free once their stores have been read: load what comes next.
      if (j == 0 && (!tensor || leader)) {
        if (tensor) device::store_wait_read<0>();
        fetch_until(min(slabs, number * P::kSlabs + P::kRing));
        device::copy_async_commit();
      }
    }
    device::sync_block();
    DANAUS_UNROLL for (int i = 0; i < P::kLinePairsPerWarp; i += P::kLinePairsAtOnce)
      convolve_lines<P>(slab_at, warp * P::kLinePairsPerWarp + i, c, spectrum, held + (P::kSpectrumInRegisters ? i * P::kSlabs : 0));
    device::sync_block();
    DANAUS_UNROLL for (int j = 0; j < P::kUnitsPerWarp; ++j) {
      const int unit = warp + P::kWarps * j;
      transform_column_back<P>(a, item, slab_at(unit / P::kColumnChunks), unit, c, split);
    }
    device::fence_async();
    device::sync_block();
    if (!P::kPair && !tensor && a.wrap)
      store_wrapped<P, Worker, T>(a, item, slab_at);
    else if (!tensor || leader)
      for (int s = 0; s < P::kSlabs; ++s) store_slab<P, Worker>(a, tensor, item, s, slab_at(s));
    if (!tensor) device::sync_block();
    advance<P, 1>(a, item);
    place += P::kSlabs;
    if (place >= P::kRing) place -= P::kRing, parity ^= 1;
  }
}

}  // namespace danaus::inline DANAUS_BACKEND
