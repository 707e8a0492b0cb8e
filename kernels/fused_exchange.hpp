// fused_exchange: y = v * conv(w * u, k) with one exchange through shared memory each way, N = 64 r x columns.
//
// source     FlashFFTConv's order-p convolution (Fu et al. 2023, algorithm 3) with radix-8 stages of one mma each
// index      n = columns n_hi + n_lo, k = k_hi + 64 r k_lo
//            n_hi = 64 nr + 8 n1 + n2 < 64 r. k_hi = kr + r (k1 + 8 k2), or for r = 2, where nr and n1 are one digit of 16,
//            k_hi = 8 kr + k1 + 16 k2
//            n_lo = 64 ns + 8 n3 + n4 < columns, ns < S = columns / 64 or 1. k_lo = ks + S (k3 + K3 k4), K3 = min(columns,
//            64) / 8; for S = 2, where ns and n3 are one digit of 16, 8 ks + k3 + 16 k4
// shapes     u, y, gates [B, H, L], L <= N; one block takes two batch rows (pair fold) or one row (right angle)
// types      storage f16 or bf16; f16 rounds every product of matrices to f16, bf16 accumulates a stage in f32
// scaling    unitary up to a power of two; the power is in the DFT matrices and twiddles, the rest in the spectrum
// steps      A  one 16-byte column of samples (8 n4) over all 64 r rows a unit: DFT over (nr,) n1 | twiddle | DFT8 n2 |
//               in place
//            B  one row of columns a unit: DFT over (ns,) n3 | twiddle | DFT over n4 | spectrum | and back
//            A  back
// split      the twiddle between A and B, w_N^(n_lo k_hi) with n_lo = 8 unit + n4, is separable. Its part in 8 unit is folded
//            into the inner twiddle and the second matrix of step A, which each unit has its own of; its part in n4 into the
//            twiddle of step B, of which each line has its own, and its matrix over n4, of which each group of 8 r lines has.
// memory     a slab holds 64 columns of both rows; line nr 8 + n1 + 8 r n2 (128 bytes), its 16-byte chunk c swizzled.
//            After step A, k2 stands where n1 was and k1 where n2 was, so that every step works in place
// gates      with tensor copies, through a ring of slabs of their own, in the order of their use: the pregate's of an item, then
//            the postgate's; otherwise each thread multiplies its part of the slabs
// resources  a block barrier between steps; one unit of step A for each warp and pass
// error      bound_l2_of_roundings(dtype, roundings): kernels/variants.hpp
// reference  reference/convolution.hpp   test   tests/kernels/fused_test.cpp
#pragma once

#include <type_traits>

#include "kernels/device/tile.hpp"
#include "kernels/transfer.hpp"

namespace danaus::inline DANAUS_BACKEND {

template <Dtype type, Fold fold, bool gated, int radix, int columns, int warps, int ring, int gate_ring>
struct FusedExchange {
  static constexpr Dtype kType = type;
  static constexpr bool kPair = fold == Fold::pair;
  static constexpr bool kGated = gated;
  static constexpr int kRadix = radix, kColumns = columns, kWarps = warps, kRing = ring;
  static constexpr int kGateRing = gate_ring;
  static constexpr int kThreads = 32 * warps;
  static constexpr int kSize = 64 * radix * columns;
  static_assert(columns == 8 || columns == 16 || columns == 32 || columns % 64 == 0);

  // Long rows would evict the spectra, which a channel's items share, from L2.
  static constexpr Cache kCache = kSize >= 8192 ? Cache::stream : Cache::normal;

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

  // 16-byte chunk number (line, chunk of the line) <-> first sample; the line is 8 nr + n1 + 8 r (n2 / kRowsPerLine).
  static DANAUS_DEVICE int sample_of(int chunk) {
    const int line = chunk / 8, c = chunk % 8;
    const int row = line % (8 * radix) * 8 + line / (8 * radix) * kRowsPerLine + c / kColumnChunks;
    return row * columns + c % kColumnChunks * 8;
  }
  static DANAUS_DEVICE void locate(int chunk_of_row, int& slab, int& chunk) {
    const int row = chunk_of_row / (columns / 8), column = chunk_of_row % (columns / 8);
    slab = column / kColumnChunks;
    const int line = row / 8 + 8 * radix * (row % 8 / kRowsPerLine);
    chunk = 8 * line + row % 8 % kRowsPerLine * kColumnChunks + column % kColumnChunks;
  }
  static DANAUS_DEVICE void tensor_at(Item item, int slab, int (&at)[5]) {
    at[0] = 64 * slab, at[1] = at[2] = 0, at[3] = item.channel, at[4] = item.row;
  }

  static constexpr bool kRows16 = radix == 2;         // nr and n1 are one digit of 16
  static constexpr bool kColumns16 = kSlabs == 2;     // ns and n3 are one digit of 16

  // Tables, in vectors of four words a lane unless said otherwise; kernels/geometry.cpp makes them.
  static constexpr int kEightAt = 0;                             // DFT8 n1, DFT n3
  static constexpr int kSixteenAt = 2;                           // DFT16, four blocks
  static constexpr int kOuterAt = 6;                             // w_{64 r}^(kr (8 n1 + n2)), two kr a vector
  static constexpr int kSlabAt = kOuterAt + 3;                   // w_{64 S}^(ks (8 n3 + n4)), two ks a vector
  static constexpr int kRealAt = kSlabAt + 4;                    // right angle: first matrix there and back, two vectors each
  static constexpr int kLineAt = kRealAt + 4;                    // per line of a group: twiddles of step B, there and back;
  static constexpr int kLineVectors = kColumns16 ? 2 : 1;        // for S = 2 a vector each
  static constexpr int kGroupLines = 8 * radix, kGroups = kLines / kGroupLines;
  static constexpr int kGroupAt = kLineAt + kGroupLines * kLineVectors;  // per group: DFT8 n4 there, back
  static constexpr int kUnitAt = kGroupAt + 2 * kGroups;         // per unit, there and back: DFT8 n2; twiddles, two kr a vector
  static constexpr int kUnitVectors = 1 + (radix + 1) / 2;
  static constexpr int kRadixWeightAt = 128 * (kUnitAt + 2 * kUnits * kUnitVectors);  // words: exp(i pi 64 columns nr / 2N)
  static constexpr int kTableWords = kRadixWeightAt + 2 * radix;

  static_assert(kRowBytes % 1024 == 0, "both rows are swizzled alike");
  // What stays in registers, where it is little: constants of a warp's only unit, twiddles of its lines, their spectrum.
  static constexpr bool kUnitInRegisters = kUnitsPerWarp == 1 && radix == 1;
  static constexpr int kLinesPerWarp = 2 * kLinePairsPerWarp;
  static_assert(kGroupLines % kLinesPerWarp == 0, "a warp's lines are of one group");
  static constexpr bool kLinesInRegisters = radix == 1 && kLinesPerWarp * kLineVectors <= 8;
  static constexpr bool kSpectrumInRegisters = kLinePairsPerWarp * kSlabs <= 4;

  // Shared memory: barriers, twiddles of lines, the ring of slabs, the ring of gates. At 32K a seventh slab is worth more than
  // the twiddles (2412 -> 2313 us), which L1 then holds.
  static constexpr int kLinesBegin = 1024;
  static constexpr bool kLinesInShared = !kLinesInRegisters && kSize < 32768;
  static constexpr int kLineBytes = kLinesInShared ? 512 * kGroupLines * kLineVectors : 0;
  static constexpr int kSlabsBegin = kLinesBegin + kLineBytes;
  static constexpr int kGatesBegin = kSlabsBegin + ring * kSlabBytes;
  static constexpr int kSharedBytes = kGatesBegin + gate_ring * kSlabBytes;
  static_assert(kSlabsBegin % 1024 == 0, "slabs are swizzled by their addresses");
  // Where the ring has room for three items, it is refilled one item behind the stores, so that nobody waits for them; where
  // it has not, stores go out as slabs are finished, and their places are refilled as they become free.
  static constexpr int kLag = ring >= 3 * kSlabs ? 1 : 0;
  static constexpr int kStoresAnItem = (gated && gate_ring == 0) || ring >= 2 * kSlabs ? 1 : kUnitsPerWarp % kSlabs == 0 ? kSlabs : kUnitsPerWarp % 2 == 0 && kSlabs % 2 == 0 ? 2 : 1;
  // Where threads apply a gate they need all slabs of an item at once, those that the ring has no room for before as well.
  static constexpr bool kRefillFirst = gated && gate_ring == 0 && ring < 2 * kSlabs;
  // Where the ring of gates cannot hold those of an item, the pregate's places are filled again as they become free.
  static constexpr int kGateGroups = gate_ring >= kSlabs ? 1 : kUnitsPerWarp;
  static_assert(gate_ring == 0 || (gate_ring * kGateGroups >= kSlabs && gate_ring * kStoresAnItem >= kSlabs));
  static_assert(kStoresAnItem == 1 || kGateGroups == 1 || kGateGroups == kStoresAnItem);
  // Line pairs of step B in flight: 16 registers of data, as in step A.
  static constexpr int kMostTiles = radix == 1 && type == Dtype::f16 && kPair ? 4 : 2;
  static constexpr int kMostPairs = kMostTiles > kSlabs ? kMostTiles / kSlabs : 1;
  static constexpr int kLinePairsAtOnce = kLinePairsPerWarp % kMostPairs == 0 ? kMostPairs : 1;
};

template <int threads>
struct BlockWorker {
  static constexpr int kThreads = threads;
  static DANAUS_DEVICE int index() { return device::thread_index(); }
};

namespace exchange {

template <class P>
struct Constants {
  Matrix8 n1, n1_back, n3;      // n1 with the weights of the right angle, n1_back transposed
  Matrix8 n4, n4_back;          // with the split's part of the warp's group
  RealMatrix16 top, top_back;   // right angle, r = 2
  Matrix16 sixteen;
  Complex2 outer[P::kRadix], slab[P::kSlabs];
  Complex2 radix_weight[P::kRadix];
};

// Constants of one unit of step A in one direction: DFT8 n2 and the twiddle before (after) it, with the split folded in.
template <class P>
struct UnitConstants {
  Matrix8 n2;
  Complex2 a[P::kRadix];
};

template <class P>
DANAUS_DEVICE Matrix8 load_matrix8(const u32* tables, int number) {
  const Words<4> w = load_lane_words(tables, number);
  return {w[0], w[1], w[2], w[3]};
}

template <class P>
DANAUS_DEVICE UnitConstants<P> load_unit(const u32* tables, int unit, bool back) {
  const int at = P::kUnitAt + (2 * unit + back) * P::kUnitVectors;
  UnitConstants<P> c;
  c.n2 = load_matrix8<P>(tables, at);
  DANAUS_UNROLL for (int kr = 0; kr < P::kRadix; kr += 2) {
    const Words<4> w = load_lane_words(tables, at + 1 + kr / 2);
    c.a[kr] = {w[0], w[1]};
    if (kr + 1 < P::kRadix) c.a[kr + 1] = {w[2], w[3]};
  }
  return c;
}

// Twiddles of step B for one line, with the split's part of the line within its group: rows n4 and columns k3 there, the other
// way round back.
template <class P>
struct LineTwiddles {
  Complex2 there[P::kLineVectors], back[P::kLineVectors];
  DANAUS_DEVICE LineTwiddles(const Words<4> (&w)[P::kLineVectors]) {
    if constexpr (P::kLineVectors == 1) {
      there[0] = {w[0][0], w[0][1]}, back[0] = {w[0][2], w[0][3]};
    } else {
      DANAUS_UNROLL for (int ks = 0; ks < 2; ++ks) {
        there[ks] = {w[0][2 * ks], w[0][2 * ks + 1]}, back[ks] = {w[1][2 * ks], w[1][2 * ks + 1]};
      }
    }
  }
};

// Step A works on chunk column `unit`: for each nr two 16-byte loads a row give the 8 samples n4 of n1 = 2t and 2t+1 at
// n2 = g. Where rows g and g + 1 are not neighbours in one line, odd g take n1 = 2t+1 first: eight lanes then read eight
// different chunks.
template <class P>
struct Column {
  SharedAddress address[2];  // in the slab's first row, nr = 0
  u32 low, high;             // byte selectors: (first, second) -> pairs of the low halves, of the high halves
  bool swapped;
  DANAUS_DEVICE Column(SharedAddress slab, int chunk) {
    const int lane = device::lane_index(), g = lane / 4, t = lane % 4;
    swapped = P::kRowsPerLine < 8 && g % 2 == 1;
    DANAUS_UNROLL for (int b = 0; b < 2; ++b) {
      const int n1 = 2 * t + (swapped ? 1 - b : b);
      const int line = n1 + 8 * P::kRadix * (g / P::kRowsPerLine);
      address[b] = swizzled(slab + 128 * line + 16 * (g % P::kRowsPerLine * P::kColumnChunks + chunk));
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
  DANAUS_DEVICE void load(int row, int nr, u32 (&tiles)[8]) const { unpack(words(row, nr, 0), words(row, nr, 1), tiles); }
  DANAUS_DEVICE void store(int row, int nr, const u32 (&tiles)[8]) const {
    Words<4> first, second;
    pack(tiles, first, second);
    keep(row, nr, first, second);
  }
  // The same, times the samples of a gate.
  DANAUS_DEVICE void load(int row, int nr, u32 (&tiles)[8], const Column& gate) const {
    unpack(product(words(row, nr, 0), gate.words(row, nr, 0)), product(words(row, nr, 1), gate.words(row, nr, 1)), tiles);
  }
  DANAUS_DEVICE void store(int row, int nr, const u32 (&tiles)[8], const Column& gate) const {
    Words<4> first, second;
    pack(tiles, first, second);
    keep(row, nr, product(first, gate.words(row, nr, 0)), product(second, gate.words(row, nr, 1)));
  }

 private:
  DANAUS_DEVICE Words<4> words(int row, int nr, int b) const {
    return device::load_shared<16>(address[b] + row * P::kRowBytes + 1024 * nr);
  }
  DANAUS_DEVICE void keep(int row, int nr, Words<4> first, Words<4> second) const {
    device::store_shared<16>(address[0] + row * P::kRowBytes + 1024 * nr, first);
    device::store_shared<16>(address[1] + row * P::kRowBytes + 1024 * nr, second);
  }
  static DANAUS_DEVICE Words<4> product(Words<4> a, Words<4> b) {
    DANAUS_UNROLL for (int i = 0; i < 4; ++i) a[i] = device::mul2<P::kType>(a[i], b[i]);
    return a;
  }
};

// A gate's slab, if there is one.
struct GateSlab {
  bool present;
  SharedAddress place;
};

template <class P, bool inverse>
DANAUS_DEVICE void radix_over_rows(Complex2 (&x)[P::kRadix][8]) {
  DANAUS_UNROLL for (int i = 0; i < 8; ++i) {
    Complex2 column[P::kRadix];
    DANAUS_UNROLL for (int r = 0; r < P::kRadix; ++r) column[r] = x[r][i];
    radix_dft<P::kType, P::kRadix, inverse>(column);
    DANAUS_UNROLL for (int r = 0; r < P::kRadix; ++r) x[r][i] = column[r];
  }
}

// Step A on one unit, in place.
template <class P>
DANAUS_DEVICE void transform_column(SharedAddress slab, GateSlab gate, int unit, const Constants<P>& c, const UnitConstants<P>& own) {
  constexpr Dtype T = P::kType;
  const Column<P> column(slab, unit % P::kColumnChunks), gate_column(gate.place, unit % P::kColumnChunks);
  Complex2 x[P::kRadix][8];
  DANAUS_UNROLL for (int nr = 0; nr < P::kRadix; ++nr) {
    u32 re[8], im[8];
    if (P::kGateRing > 0 && gate.present) {
      column.load(0, nr, re, gate_column);
      if constexpr (P::kPair) column.load(1, nr, im, gate_column);
    } else {
      column.load(0, nr, re);
      if constexpr (P::kPair) column.load(1, nr, im);
    }
    DANAUS_UNROLL for (int i = 0; i < 8; ++i) {
      if constexpr (P::kPair) x[nr][i] = {re[i], im[i]};
      else if constexpr (P::kRadix == 1) x[nr][i] = real_from_right<T>(c.n1, re[i]);
      else if (P::kRows16 || nr == 0) x[nr][i] = {re[i], 0};
      else x[nr][i] = {device::mul2<T>(re[i], c.radix_weight[nr].re), device::mul2<T>(re[i], c.radix_weight[nr].im)};
    }
  }
  if constexpr (P::kRows16) {
    DANAUS_UNROLL for (int i = 0; i < 8; ++i)
      if constexpr (P::kPair) from_right<T, false>(c.sixteen, x[0][i], x[1][i]);
      else real_from_right<T>(c.top, x[0][i].re, x[1][i].re, x[0][i], x[1][i]);
  } else if constexpr (P::kPair || P::kRadix > 1) {
    radix_over_rows<P, false>(x);
    DANAUS_UNROLL for (int kr = 0; kr < P::kRadix; ++kr)
      DANAUS_UNROLL for (int i = 0; i < 8; ++i) {
        if (kr > 0) x[kr][i] = times<T, false>(x[kr][i], c.outer[kr]);
        x[kr][i] = from_right<T, false>(c.n1, x[kr][i]);
      }
  }
  DANAUS_UNROLL for (int kr = 0; kr < P::kRadix; ++kr) {
    DANAUS_UNROLL for (int i = 0; i < 8; ++i) x[kr][i] = times<T, false>(x[kr][i], own.a[kr]);
    DANAUS_UNROLL for (int i = 0; i < 8; i += 2) from_left<T, false>(own.n2, x[kr][i], x[kr][i + 1]);
    u32 re[8], im[8];
    DANAUS_UNROLL for (int i = 0; i < 8; ++i) re[i] = x[kr][i].re, im[i] = x[kr][i].im;
    column.store(0, kr, re);
    column.store(1, kr, im);
  }
}

template <class P>
DANAUS_DEVICE void transform_column_back(SharedAddress slab, GateSlab gate, int unit, bool wrap, const Constants<P>& c,
                                         const UnitConstants<P>& own) {
  constexpr Dtype T = P::kType;
  const Column<P> column(slab, unit % P::kColumnChunks), gate_column(gate.place, unit % P::kColumnChunks);
  Complex2 x[P::kRadix][8];
  DANAUS_UNROLL for (int kr = 0; kr < P::kRadix; ++kr) {
    u32 re[8], im[8];
    column.load(0, kr, re);
    column.load(1, kr, im);
    DANAUS_UNROLL for (int i = 0; i < 8; ++i) x[kr][i] = {re[i], im[i]};
    DANAUS_UNROLL for (int i = 0; i < 8; ++i) x[kr][i] = times<T, true>(from_right<T, true>(own.n2, x[kr][i]), own.a[kr]);
  }
  u32 re[P::kRadix][8], im[P::kRadix][8];
  if constexpr (!P::kPair && P::kRadix <= 2) {
    // The last matrix gives the real part alone, and the imaginary one where the tail of the convolution is wanted.
    DANAUS_UNROLL for (int part = 0; part < 2; ++part) {
      if (part == 1 && !wrap) break;
      auto& out = part == 0 ? re : im;
      DANAUS_UNROLL for (int i = 0; i < 8; i += 2) {
        if constexpr (P::kRows16) {
          u32 p[2], q[2];
          real_from_left<T>(c.top_back, {x[0][i], x[1][i]}, {x[0][i + 1], x[1][i + 1]}, part == 1, p, q);
          DANAUS_UNROLL for (int nr = 0; nr < 2; ++nr) out[nr][i] = p[nr], out[nr][i + 1] = q[nr];
        } else {
          real_from_left<T>(c.n1_back, x[0][i], x[0][i + 1], part == 1, out[0][i], out[0][i + 1]);
        }
      }
    }
  } else {
    if constexpr (P::kRows16) {
      DANAUS_UNROLL for (int i = 0; i < 8; i += 2)
        from_left<T, true>(c.sixteen, x[0][i], x[1][i], x[0][i + 1], x[1][i + 1]);
    } else {
      DANAUS_UNROLL for (int kr = 0; kr < P::kRadix; ++kr) {
        DANAUS_UNROLL for (int i = 0; i < 8; i += 2) from_left<T, true>(P::kPair ? c.n1 : c.n1_back, x[kr][i], x[kr][i + 1]);
        DANAUS_UNROLL for (int i = 0; i < 8; ++i)
          if (kr > 0) x[kr][i] = times<T, true>(x[kr][i], c.outer[kr]);
      }
      radix_over_rows<P, true>(x);
    }
    DANAUS_UNROLL for (int nr = 0; nr < P::kRadix; ++nr)
      DANAUS_UNROLL for (int i = 0; i < 8; ++i) {
        const Complex2 z = x[nr][i];
        re[nr][i] = P::kPair || nr == 0 ? z.re : real_times_conjugate<T>(z, c.radix_weight[nr]);
        im[nr][i] = P::kPair || nr == 0 ? z.im : imaginary_times_conjugate<T>(z, c.radix_weight[nr]);
      }
  }
  DANAUS_UNROLL for (int nr = 0; nr < P::kRadix; ++nr) {
    if (P::kGateRing > 0 && gate.present) {
      column.store(0, nr, re[nr], gate_column);
      if constexpr (P::kPair) column.store(1, nr, im[nr], gate_column);
    } else {
      column.store(0, nr, re[nr]);
      if (P::kPair || wrap) column.store(1, nr, im[nr]);
    }
  }
}

// Step B on the line pairs from `first` on, lines 2 pair and 2 pair + 1 of every slab, in place. Several pairs at a time give
// a warp independent work while one waits for its loads and products.
template <class P, class SlabAt, class TwiddlesOf>
DANAUS_DEVICE void convolve_lines(SlabAt slab_at, int first, const Constants<P>& c, const Words<4>* spectra, TwiddlesOf twiddles_of) {
  constexpr Dtype T = P::kType;
  constexpr int kPairs = P::kLinePairsAtOnce;
  const int lane = device::lane_index(), matrix = lane / 8, row = lane % 8;
  // Matrices re and im of line 2 pair, re and im of the next one.
  SharedAddress at[kPairs];
  Complex2 x[kPairs][2][P::kSlabs];
  DANAUS_UNROLL for (int p = 0; p < kPairs; ++p) {
    at[p] = swizzled(matrix % 2 * P::kRowBytes + 128 * (2 * (first + p) + matrix / 2) + 16 * row);
    DANAUS_UNROLL for (int s = 0; s < P::kSlabs; ++s) {
      const Words<4> w = device::load_matrices<4, true>(slab_at(s) + at[p]);
      x[p][0][s] = {w[0], w[1]}, x[p][1][s] = {w[2], w[3]};
    }
  }
  DANAUS_UNROLL for (int p = 0; p < kPairs; ++p)
    DANAUS_UNROLL for (int line = 0; line < 2; ++line) {
      auto& z = x[p][line];
      if constexpr (P::kColumns16) {
        from_right<T, false>(c.sixteen, z[0], z[1]);
      } else {
        radix_dft<T, P::kSlabs, false>(z);
        DANAUS_UNROLL for (int s = 0; s < P::kSlabs; ++s) {
          if (s > 0) z[s] = times<T, false>(z[s], c.slab[s]);
          z[s] = from_right<T, false>(c.n3, z[s]);
        }
      }
      const LineTwiddles<P> own = twiddles_of(2 * p + line);
      DANAUS_UNROLL for (int s = 0; s < P::kSlabs; ++s) z[s] = times<T, false>(z[s], own.there[P::kColumns16 ? s : 0]);
    }
  DANAUS_UNROLL for (int p = 0; p < kPairs; ++p)
    DANAUS_UNROLL for (int s = 0; s < P::kSlabs; ++s) {
      from_left<T, false>(c.n4, x[p][0][s], x[p][1][s]);
      const Words<4> w = spectra[p * P::kSlabs + s];
      DANAUS_UNROLL for (int line = 0; line < 2; ++line) {
        Complex2& z = x[p][line][s];
        z = times<T, false>(z, {w[2 * line], w[2 * line + 1]});
        z = times<T, true>(from_right<T, true>(c.n4_back, z), twiddles_of(2 * p + line).back[P::kColumns16 ? s : 0]);
      }
    }
  DANAUS_UNROLL for (int p = 0; p < kPairs; ++p) {
    if constexpr (P::kColumns16) {
      from_left<T, true>(c.sixteen, x[p][0][0], x[p][0][1], x[p][1][0], x[p][1][1]);
    } else {
      DANAUS_UNROLL for (int s = 0; s < P::kSlabs; ++s) from_left<T, true>(c.n3, x[p][0][s], x[p][1][s]);
      DANAUS_UNROLL for (int line = 0; line < 2; ++line) {
        DANAUS_UNROLL for (int s = 1; s < P::kSlabs; ++s) x[p][line][s] = times<T, true>(x[p][line][s], c.slab[s]);
        radix_dft<T, P::kSlabs, true>(x[p][line]);
      }
    }
    DANAUS_UNROLL for (int s = 0; s < P::kSlabs; ++s)
      device::store_matrices<4, true>(slab_at(s) + at[p], Words<4>{x[p][0][s].re, x[p][0][s].im, x[p][1][s].re, x[p][1][s].im});
  }
}

template <class P>
DANAUS_DEVICE void load_constants(const u32* tables, int group, Constants<P>& c) {
  c.n1 = load_matrix8<P>(tables, P::kPair ? P::kEightAt : P::kRealAt), c.n1_back = load_matrix8<P>(tables, P::kRealAt + 2);
  DANAUS_UNROLL for (int i = 0; i < 2; ++i) {
    const Words<4> there = load_lane_words(tables, P::kRealAt + i), back = load_lane_words(tables, P::kRealAt + 2 + i);
    DANAUS_UNROLL for (int j = 0; j < 4; ++j) c.top.part[i][j] = there[j], c.top_back.part[i][j] = back[j];
  }
  c.n3 = load_matrix8<P>(tables, P::kEightAt + 1);
  c.n4 = load_matrix8<P>(tables, P::kGroupAt + 2 * group);
  c.n4_back = load_matrix8<P>(tables, P::kGroupAt + 2 * group + 1);
  DANAUS_UNROLL for (int b = 0; b < 4; ++b) c.sixteen.block[b / 2][b % 2] = load_matrix8<P>(tables, P::kSixteenAt + b);
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
}

// The ring of gates.
template <class P>
class GateRing {
 public:
  DANAUS_DEVICE GateRing(const FusedArguments& a, bool tensor, Item first, int items)
      : a_(a), item_(first), post_(!a.pregate), total_(tensor ? P::kSlabs * items * ((a.pregate != nullptr) + (a.postgate != nullptr)) : 0) {}

  DANAUS_DEVICE static void init() {
    for (int i = 0; i < kPlaces; ++i) device::barrier_init(barrier(i), 1);
  }
  // For the thread that issues the copies: fills the places that are free.
  DANAUS_DEVICE void fetch() {
    for (; fetched_ < min(total_, used_ + kPlaces); ++fetched_) {
      device::barrier_expect(barrier(place_), (P::kPair ? 2 : 1) * P::kRowBytes);
      int at[5];
      P::tensor_at(item_, slab_, at);
      device::tensor_load(address(place_), post_ ? a_.postgate_map : a_.pregate_map, at, barrier(place_), P::kCache);
      if (++place_ == kPlaces) place_ = 0;
      if (++slab_ < P::kSlabs) continue;
      slab_ = 0;
      if (post_ || !a_.postgate) advance<P>(a_, item_);
      post_ = !post_ ? a_.postgate != nullptr : !a_.pregate;
    }
  }
  // Slab s of the gate whose turn it is, when it has come.
  DANAUS_DEVICE SharedAddress wait(int s) const {
    int place = next_ + s;
    u32 parity = parity_;
    DANAUS_UNROLL for (int i = 0; i < kTurns; ++i)
      if (place >= kPlaces) place -= kPlaces, parity ^= 1;
    device::barrier_wait(barrier(place), parity);
    return address(place);
  }
  // `slabs` more are no longer needed, by any thread of the block.
  DANAUS_DEVICE void release(int slabs) { used_ += slabs; }
  // The gate's turn is over.
  DANAUS_DEVICE void turn() {
    next_ += P::kSlabs;
    DANAUS_UNROLL for (int i = 0; i < kTurns; ++i)
      if (next_ >= kPlaces) next_ -= kPlaces, parity_ ^= 1;
  }

 private:
  static constexpr int kPlaces = P::kGateRing > 0 ? P::kGateRing : 1;
  static constexpr int kTurns = (P::kSlabs + kPlaces - 1) / kPlaces;  // of the ring, at most, for one gate
  static DANAUS_DEVICE SharedAddress barrier(int place) { return 8 * (P::kRing + place); }
  static DANAUS_DEVICE SharedAddress address(int place) { return P::kGatesBegin + place * P::kSlabBytes; }

  const FusedArguments& a_;
  Item item_;            // whose slab is fetched next,
  bool post_;            // of which gate
  int slab_ = 0, place_ = 0;
  int total_, fetched_ = 0, used_ = 0;  // slabs of all items
  int next_ = 0;         // place of the slab that is used next
  u32 parity_ = 0;
};

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

  const bool gates_by_tensor = P::kGateRing > 0 && tensor;
  if (leader && tensor) {
    for (int i = 0; i < P::kRing; ++i) device::barrier_init(8 * i, 1);
    if constexpr (P::kGateRing > 0) GateRing<P>::init();
  }
  for (int i = device::thread_index(); i < P::kLineBytes / 16; i += P::kThreads)
    device::store_shared<16>(P::kLinesBegin + 16 * i, device::load_global<16>(a.tables + 128 * P::kLineAt + 4 * i));
  device::fence_async();
  device::sync_block();

  Constants<P> c;
  load_constants<P>(a.tables, warp * P::kLinesPerWarp / P::kGroupLines, c);
  const int first_line = warp * P::kLinesPerWarp % P::kGroupLines;
  Words<4> line_words[P::kLinesInRegisters ? P::kLinesPerWarp : 1][P::kLineVectors];
  if constexpr (P::kLinesInRegisters)
    DANAUS_UNROLL for (int i = 0; i < P::kLinesPerWarp; ++i)
      DANAUS_UNROLL for (int v = 0; v < P::kLineVectors; ++v)
        line_words[i][v] = load_lane_words(a.tables, P::kLineAt + (first_line + i) * P::kLineVectors + v);
  UnitConstants<P> there, back;
  if constexpr (P::kUnitInRegisters) there = load_unit<P>(a.tables, warp, false), back = load_unit<P>(a.tables, warp, true);
  device::let_next_grid_begin();
  device::wait_for_previous_grid();
  constexpr int kHeld = P::kSpectrumInRegisters ? P::kLinePairsPerWarp * P::kSlabs : 1;
  Words<4> held[kHeld];
  int held_channel = -1;

  // Slab number s of all that this block computes lives at place s mod kRing; `fetched` of them have been asked for.
  const auto place_address = [](int place) -> SharedAddress { return P::kSlabsBegin + place * P::kSlabBytes; };
  const int slabs = count * P::kSlabs;
  int fetched = 0, fetch_place = 0, fetch_slab_index = 0;
  Item fetch_item = item_at<P>(a, first);
  const auto fetch_until = [&](int limit) {
    for (; fetched < limit; ++fetched) {
      const SharedAddress barrier = 8 * fetch_place;
      if (tensor) device::barrier_expect(barrier, (P::kPair ? 2 : 1) * P::kRowBytes);
      fetch_slab<P, Worker>(a, tensor, a.u_map, a.u, fetch_item, fetch_slab_index, place_address(fetch_place), barrier);
      if (++fetch_place == P::kRing) fetch_place = 0;
      if (++fetch_slab_index == P::kSlabs) fetch_slab_index = 0, advance<P>(a, fetch_item);
    }
  };
  GateRing<P> gates(a, gates_by_tensor, item_at<P>(a, first), count);
  if (!tensor || leader) fetch_until(min(slabs, P::kRing));
  if (gates_by_tensor && leader) gates.fetch();
  device::copy_async_commit();
  const auto release_gates = [&](int released) {
    gates.release(released);
    if (leader) gates.fetch();
  };

  Item item = item_at<P>(a, first);
  int place = 0;       // of the item's first slab
  u32 parity = 0;      // of that place's barrier
  for (int number = 0; number < count; ++number) {
    const auto wrapped = [&](int s) { return place + s >= P::kRing; };
    const auto place_of = [&](int s) { return wrapped(s) ? place + s - P::kRing : place + s; };
    const auto slab_at = [&](int s) { return place_address(place_of(s)); };
    const u32* spectrum = a.spectrum + static_cast<long long>(item.channel) * P::kSize;
    if (!tensor) {
      device::copy_async_wait<0>();
      device::sync_block();
    }
    if constexpr (P::kSpectrumInRegisters)
      if (item.channel != held_channel) {
        held_channel = item.channel;
        DANAUS_UNROLL for (int i = 0; i < kHeld; ++i) held[i] = load_spectrum<P::kCache>(spectrum, warp * kHeld + i);
      }

    // Places of earlier slabs are free once their stores have been read; `pending` of those that were issued may not be.
    const auto refill = [&](auto pending, int freed) {
      if (tensor && !leader) return;
      if (tensor) device::store_wait_read<decltype(pending)::value>();
      fetch_until(min(slabs, freed + P::kRing));
      device::copy_async_commit();
    };
    constexpr bool kRefillBetween = P::kStoresAnItem > 1 && P::kRing < P::kSlabs + P::kSlabs / P::kStoresAnItem;
    if constexpr (P::kStoresAnItem > 1)
      if (tensor) refill(std::integral_constant<int, P::kSlabs / P::kStoresAnItem>(), number * P::kSlabs - P::kSlabs / P::kStoresAnItem);
    const auto wait_for = [&](int s) {
      if (tensor) device::barrier_wait(8 * place_of(s), parity ^ wrapped(s));
    };
    if constexpr (P::kRefillFirst) refill(std::integral_constant<int, 0>(), number * P::kSlabs);
    const bool pregate = gates_by_tensor && a.pregate, postgate = gates_by_tensor && a.postgate;
    if constexpr (P::kGated)
      if (a.pregate && !gates_by_tensor) {
        gate_slabs<P, Worker>(a, tensor, a.pregate, item, slab_at, [&] {
          DANAUS_UNROLL for (int s = 0; s < P::kSlabs; ++s) wait_for(s);
        });
        device::sync_block();
      }
    DANAUS_UNROLL for (int j = 0; j < P::kUnitsPerWarp; ++j) {
      const int unit = warp + P::kWarps * j, s = unit / P::kColumnChunks;
      wait_for(s);
      if constexpr (!P::kUnitInRegisters) there = load_unit<P>(a.tables, unit, false);
      transform_column<P>(slab_at(s), {pregate, pregate ? gates.wait(s) : 0}, unit, c, there);
      if (j == 0 && P::kStoresAnItem == 1 && !P::kRefillFirst) refill(std::integral_constant<int, P::kLag * P::kSlabs>(), (number - P::kLag) * P::kSlabs);
      if (kRefillBetween && j == 0) refill(std::integral_constant<int, 0>(), number * P::kSlabs);
      if (P::kGateGroups > 1 && pregate) {
        device::sync_block();
        release_gates(P::kSlabs / P::kGateGroups);
      }
    }
    if constexpr (P::kStoresAnItem > 1 && !kRefillBetween) refill(std::integral_constant<int, 0>(), number * P::kSlabs);
    // Spectra are asked for one batch of lines ahead, the first before the barrier.
    constexpr int kBatch = P::kLinePairsAtOnce, kBatches = P::kLinePairsPerWarp / kBatch, kVectors = kBatch * P::kSlabs;
    const auto load_batch = [&](int batch, Words<4> (&spectra)[kVectors]) {
      DANAUS_UNROLL for (int i = 0; i < kVectors; ++i)
        spectra[i] = P::kSpectrumInRegisters ? held[batch * kVectors + i]
                                             : load_spectrum<P::kCache>(spectrum, (warp * kBatches + batch) * kVectors + i);
    };
    Words<4> spectra[kVectors], ahead[kVectors];
    load_batch(0, ahead);
    device::sync_block();
    if (pregate) {
      if constexpr (P::kGateGroups == 1) release_gates(P::kSlabs);
      gates.turn();
    }
    DANAUS_UNROLL for (int batch = 0; batch < kBatches; ++batch) {
      DANAUS_UNROLL for (int i = 0; i < kVectors; ++i) spectra[i] = ahead[i];
      if (batch + 1 < kBatches) load_batch(batch + 1, ahead);
      const int first_pair = (warp * kBatches + batch) * kBatch;
      const auto twiddles_of = [&](int line) {  // of the batch
        if constexpr (P::kLinesInRegisters) return LineTwiddles<P>(line_words[2 * kBatch * batch + line]);
        Words<4> w[P::kLineVectors];
        DANAUS_UNROLL for (int v = 0; v < P::kLineVectors; ++v) {
          const int vector = (first_line + 2 * kBatch * batch + line) * P::kLineVectors + v;
          w[v] = P::kLinesInShared ? device::load_shared<16>(P::kLinesBegin + 512 * vector + 16 * device::lane_index())
                                   : load_lane_words(a.tables, P::kLineAt + vector);
        }
        return LineTwiddles<P>(w);
      };
      convolve_lines<P>(slab_at, first_pair, c, spectra, twiddles_of);
    }
    device::sync_block();
    DANAUS_UNROLL for (int j = 0; j < P::kUnitsPerWarp; ++j) {
      const int unit = warp + P::kWarps * j;
      if constexpr (!P::kUnitInRegisters) back = load_unit<P>(a.tables, unit, true);
      const int s = unit / P::kColumnChunks;
      transform_column_back<P>(slab_at(s), {postgate, postgate ? gates.wait(s) : 0}, unit, a.wrap, c, back);
      // What is finished goes out at once where the ring is short.
      constexpr int kEvery = P::kUnitsPerWarp / P::kStoresAnItem, kSlabsEvery = P::kSlabs / P::kStoresAnItem;
      if (tensor && j % kEvery == kEvery - 1) {
        if (P::kGated && a.postgate && !gates_by_tensor) gate_slabs<P, Worker>(a, tensor, a.postgate, item, slab_at, [] { device::sync_block(); });
        device::fence_async();
        device::sync_block();
        if (postgate) release_gates(kSlabsEvery);
        if (leader)
          for (int s = j / kEvery * kSlabsEvery; s < (j / kEvery + 1) * kSlabsEvery; ++s) store_slab<P, Worker>(a, tensor, item, s, slab_at(s));
      }
    }
    if (!tensor) {
      if (P::kGated && a.postgate && !a.wrap) gate_slabs<P, Worker>(a, tensor, a.postgate, item, slab_at, [] { device::sync_block(); });
      device::sync_block();
      if (!P::kPair && a.wrap)
        store_wrapped<P, Worker, T>(a, item, slab_at);
      else
        for (int s = 0; s < P::kSlabs; ++s) store_slab<P, Worker>(a, tensor, item, s, slab_at(s));
      device::sync_block();
    }
    if (postgate) gates.turn();
    advance<P>(a, item);
    place += P::kSlabs;
    if (place >= P::kRing) place -= P::kRing, parity ^= 1;
  }
}

}  // namespace danaus::inline DANAUS_BACKEND
