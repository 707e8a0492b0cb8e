// The arithmetic of fused_exchange: its steps A, B and A back on slabs in shared memory.
#pragma once

#include "kernels/exchange/shape.hpp"
#include "kernels/tile/radix.hpp"

namespace danaus::inline DANAUS_BACKEND {

namespace exchange {

// The DFT over n4 there and back, with the split's part of a group of lines.
struct GroupMatrices {
  Matrix8 n4, n4_back;
};

template <class P>
struct Constants {
  Matrix8 n1, n1_back, n3;  // n1 with the weights of the right angle, n1_back transposed
  RealMatrix<P::kRealRows ? P::kRadix : 1> real, real_back;  // both for (nr, n1) where that is one digit of real data
  SplitMatrix16 sixteen;
  Complex2 outer[P::kRadix], slab[P::kSlabs];
};

// Constants of a unit of step A in one direction: DFT8 n2 and the twiddle before (after) it, with the split folded in.
template <class P>
struct UnitConstants {
  Matrix8 n2;
  Complex2 a[P::kRadix];
};

template <class P>
DANAUS_DEVICE UnitConstants<P> load_unit(const u32* tables, int unit, bool back) {
  const int at = P::kUnitAt + (2 * unit + back) * P::kUnitVectors;
  UnitConstants<P> c;
  c.n2 = load_matrix(tables, at);
  DANAUS_UNROLL
  for (int kr = 0; kr < P::kRadix; kr += 2) {
    const Words<4> w = load_lane_words(tables, at + 1 + kr / 2);
    c.a[kr] = {w[0], w[1]};
    if (kr + 1 < P::kRadix) c.a[kr + 1] = {w[2], w[3]};
  }
  return c;
}

// Twiddles of step B for one line, with the split's part of the line within its group: rows n4 and columns k3 there,
// the other way round back.
template <class P>
struct LineTwiddles {
  Complex2 there[P::kLineVectors], back[P::kLineVectors];
  DANAUS_DEVICE LineTwiddles() {}
  DANAUS_DEVICE LineTwiddles(const Words<4> (&w)[P::kLineVectors]) {
    if constexpr (P::kLineVectors == 1) {
      there[0] = {w[0][0], w[0][1]}, back[0] = {w[0][2], w[0][3]};
    } else {
      DANAUS_UNROLL
      for (int ks = 0; ks < 2; ++ks) {
        there[ks] = {w[0][2 * ks], w[0][2 * ks + 1]}, back[ks] = {w[1][2 * ks], w[1][2 * ks + 1]};
      }
    }
  }
};

// Step A works on chunk column `unit`: for each nr two 16-byte loads a row give the 8 samples n4 of n1 = 2t and 2t+1 at
// n2 = g. Where rows g and g + 1 are not neighbours in one line, odd g take n1 = 2t+1 first: eight lanes then read
// eight different chunks.
template <class P>
struct Column {
  SharedAddress address[2], imaginary[2];  // in the slab's first and second row, nr = 0
  u32 low, high;  // byte selectors: (first, second) -> pairs of the low halves, of the high halves
  bool swapped;
  DANAUS_DEVICE Column(SharedAddress real, SharedAddress imaginary_row, int chunk) {
    const int lane = device::lane_index(), g = lane / 4, t = lane % 4;
    swapped = P::kRowsPerLine < 8 && g % 2 == 1;
    DANAUS_UNROLL
    for (int b = 0; b < 2; ++b) {
      const int n1 = 2 * t + (swapped ? 1 - b : b);
      const int line = n1 + 8 * P::kRadix * (g / P::kRowsPerLine);
      const SharedAddress offset = swizzled(128 * line + 16 * (g % P::kRowsPerLine * P::kColumnChunks + chunk));
      address[b] = real + offset, imaginary[b] = imaginary_row + offset;
    }
    low = swapped ? 0x1054 : 0x5410;
    high = swapped ? 0x3276 : 0x7632;
  }
  // tiles[n4]: one register of each of the eight tiles.
  DANAUS_DEVICE void unpack(Words<4> first, Words<4> second, u32 (&tiles)[8]) const {
    DANAUS_UNROLL
    for (int i = 0; i < 4; ++i) {
      tiles[2 * i] = device::permute_bytes(first[i], second[i], low);
      tiles[2 * i + 1] = device::permute_bytes(first[i], second[i], high);
    }
  }
  DANAUS_DEVICE void pack(const u32 (&tiles)[8], Words<4>& first, Words<4>& second) const {
    const u32 one = swapped ? 0x7632 : 0x5410, two = swapped ? 0x5410 : 0x7632;
    DANAUS_UNROLL
    for (int i = 0; i < 4; ++i) {
      first[i] = device::permute_bytes(tiles[2 * i], tiles[2 * i + 1], one);
      second[i] = device::permute_bytes(tiles[2 * i], tiles[2 * i + 1], two);
    }
  }
  DANAUS_DEVICE void load(int row, int nr, u32 (&tiles)[8]) const {
    unpack(words(row, nr, 0), words(row, nr, 1), tiles);
  }
  DANAUS_DEVICE void store(int row, int nr, const u32 (&tiles)[8]) const {
    Words<4> first, second;
    pack(tiles, first, second);
    keep(row, nr, first, second);
  }
  // The same, times the samples of a gate.
  DANAUS_DEVICE void load(int row, int nr, u32 (&tiles)[8], const Column& gate) const {
    unpack(product(words(row, nr, 0), gate.words(row, nr, 0)), product(words(row, nr, 1), gate.words(row, nr, 1)),
           tiles);
  }
  DANAUS_DEVICE void store(int row, int nr, const u32 (&tiles)[8], const Column& gate) const {
    Words<4> first, second;
    pack(tiles, first, second);
    keep(row, nr, product(first, gate.words(row, nr, 0)), product(second, gate.words(row, nr, 1)));
  }

 private:
  DANAUS_DEVICE Words<4> words(int row, int nr, int b) const { return device::load_shared<16>(at(row, nr, b)); }
  DANAUS_DEVICE void keep(int row, int nr, Words<4> first, Words<4> second) const {
    device::store_shared<16>(at(row, nr, 0), first);
    device::store_shared<16>(at(row, nr, 1), second);
  }
  DANAUS_DEVICE SharedAddress at(int row, int nr, int b) const {
    return (P::kApart && row == 1 ? imaginary[b] : address[b] + row * P::kRowBytes) + 1024 * nr;
  }
  static DANAUS_DEVICE Words<4> product(Words<4> a, Words<4> b) {
    DANAUS_UNROLL
    for (int i = 0; i < 4; ++i) a[i] = device::mul2<P::kType>(a[i], b[i]);
    return a;
  }
};

// A gate's slab, if there is one.
struct GateSlab {
  bool present;
  SharedAddress place;
};

// Over the upper digit of slabs whose lower one belongs to a DFT of 16 points.
template <class P, bool inverse>
DANAUS_DEVICE void radix_over_slabs(Complex2 (&z)[P::kSlabs]) {
  DANAUS_UNROLL
  for (int low = 0; low < 2; ++low) {
    Complex2 part[P::kSlabs / 2];
    DANAUS_UNROLL
    for (int i = 0; i < P::kSlabs / 2; ++i) part[i] = z[2 * i + low];
    radix_dft<P::kType, P::kSlabs / 2, inverse>(part);
    DANAUS_UNROLL
    for (int i = 0; i < P::kSlabs / 2; ++i) z[2 * i + low] = part[i];
  }
}

// The DFT over nr and n1 of complex data, or of real data that is not one digit.
template <class P>
DANAUS_DEVICE void transform_rows(const u32 (&re)[P::kRadix][8], const u32 (&im)[P::kRadix][8], const Constants<P>& c,
                                  Complex2 (&x)[P::kRadix][8]) {
  constexpr Dtype T = P::kType;
  DANAUS_UNROLL
  for (int i = 0; i < 8; ++i) {
    Complex2 z[P::kRadix];
    if constexpr (P::kRows16) {
      z[0] = {re[0][i], im[0][i]}, z[1] = {re[1][i], im[1][i]};
      from_right<T>(c.sixteen, z[0], z[1]);
    } else {
      u32 re_of[P::kRadix], im_of[P::kRadix];
      DANAUS_UNROLL
      for (int nr = 0; nr < P::kRadix; ++nr) re_of[nr] = re[nr][i], im_of[nr] = im[nr][i];
      samples_to_radix<T, P::kPair>(re_of, im_of, z);
      DANAUS_UNROLL
      for (int kr = 0; kr < P::kRadix; ++kr) {
        if (kr > 0) z[kr] = times<T, false>(z[kr], c.outer[kr]);
        z[kr] = from_right<T, false>(c.n1, z[kr]);
      }
    }
    DANAUS_UNROLL
    for (int kr = 0; kr < P::kRadix; ++kr) x[kr][i] = z[kr];
  }
}

// The inverse; of the right angle the imaginary part is that of the convolution's tail.
template <class P>
DANAUS_DEVICE void transform_rows_back(Complex2 (&x)[P::kRadix][8], const Constants<P>& c, bool tail,
                                       u32 (&re)[P::kRadix][8], u32 (&im)[P::kRadix][8]) {
  constexpr Dtype T = P::kType;
  if constexpr (P::kRows16) {
    DANAUS_UNROLL
    for (int i = 0; i < 8; i += 2) from_left_inverse<T>(c.sixteen, x[0][i], x[1][i], x[0][i + 1], x[1][i + 1]);
  } else {
    DANAUS_UNROLL
    for (int kr = 0; kr < P::kRadix; ++kr) {
      DANAUS_UNROLL
      for (int i = 0; i < 8; i += 2) from_left<T, true>(P::kPair ? c.n1 : c.n1_back, x[kr][i], x[kr][i + 1]);
      DANAUS_UNROLL
      for (int i = 0; i < 8; ++i)
        if (kr > 0) x[kr][i] = times<T, true>(x[kr][i], c.outer[kr]);
    }
  }
  DANAUS_UNROLL
  for (int i = 0; i < 8; ++i) {
    Complex2 z[P::kRadix];
    DANAUS_UNROLL
    for (int kr = 0; kr < P::kRadix; ++kr) z[kr] = x[kr][i];
    if constexpr (P::kRows16) {
      re[0][i] = z[0].re, im[0][i] = z[0].im, re[1][i] = z[1].re, im[1][i] = z[1].im;
    } else {
      u32 re_of[P::kRadix], im_of[P::kRadix] = {};
      radix_to_samples<T, P::kPair>(z, tail, re_of, im_of);
      DANAUS_UNROLL
      for (int nr = 0; nr < P::kRadix; ++nr) re[nr][i] = re_of[nr], im[nr][i] = im_of[nr];
    }
  }
}

// The inverse for real data: the real part, or the imaginary one, where the tail of the convolution is wanted.
template <class P>
DANAUS_DEVICE void real_rows_back(const Complex2 (&x)[P::kRadix][8], const Constants<P>& c, bool imaginary,
                                  u32 (&out)[P::kRadix][8]) {
  DANAUS_UNROLL
  for (int i = 0; i < 8; i += 2) {
    Complex2 p[P::kRadix], q[P::kRadix];
    DANAUS_UNROLL
    for (int kr = 0; kr < P::kRadix; ++kr) p[kr] = x[kr][i], q[kr] = x[kr][i + 1];
    DANAUS_UNROLL
    for (int nr = 0; nr < P::kRadix; ++nr)
      real_from_left<P::kType>(c.real_back, nr, p, q, imaginary, out[nr][i], out[nr][i + 1]);
  }
}

// Step A on one unit, in place.
template <class P>
DANAUS_DEVICE void transform_column(const Column<P>& column, GateSlab gate, int unit, const Constants<P>& c,
                                    const UnitConstants<P>& own) {
  constexpr Dtype T = P::kType;
  const Column<P> gate_column(gate.place, gate.place + P::kRowBytes, unit % P::kColumnChunks);
  u32 re[P::kRadix][8], im[P::kRadix][8] = {};
  DANAUS_UNROLL
  for (int nr = 0; nr < P::kRadix; ++nr) {
    if (P::kGateRing > 0 && gate.present) {
      column.load(0, nr, re[nr], gate_column);
      if constexpr (P::kPair) column.load(1, nr, im[nr], gate_column);
    } else {
      column.load(0, nr, re[nr]);
      if constexpr (P::kPair) column.load(1, nr, im[nr]);
    }
  }
  Complex2 x[P::kRadix][8];
  if constexpr (!P::kRealRows) transform_rows<P>(re, im, c, x);
  DANAUS_UNROLL
  for (int kr = 0; kr < P::kRadix; ++kr) {
    if constexpr (P::kRealRows) {  // what real data becomes is twice as large: a part of it at a time
      DANAUS_UNROLL
      for (int i = 0; i < 8; ++i) {
        u32 real[P::kRadix];
        DANAUS_UNROLL
        for (int nr = 0; nr < P::kRadix; ++nr) real[nr] = re[nr][i];
        x[kr][i] = real_from_right<T>(c.real, kr, real);
      }
    }
    DANAUS_UNROLL
    for (int i = 0; i < 8; ++i) x[kr][i] = times<T, false>(x[kr][i], own.a[kr]);
    DANAUS_UNROLL
    for (int i = 0; i < 8; i += 2) from_left<T, false>(own.n2, x[kr][i], x[kr][i + 1]);
    u32 re_out[8], im_out[8];
    DANAUS_UNROLL
    for (int i = 0; i < 8; ++i) re_out[i] = x[kr][i].re, im_out[i] = x[kr][i].im;
    column.store(0, kr, re_out);
    column.store(1, kr, im_out);
  }
}

template <class P>
DANAUS_DEVICE void transform_column_back(const Column<P>& column, GateSlab gate, int unit, bool wrap,
                                         const Constants<P>& c, const UnitConstants<P>& own) {
  constexpr Dtype T = P::kType;
  const Column<P> gate_column(gate.place, gate.place + P::kRowBytes, unit % P::kColumnChunks);
  Complex2 x[P::kRadix][8];
  DANAUS_UNROLL
  for (int kr = 0; kr < P::kRadix; ++kr) {
    u32 re_in[8], im_in[8];
    column.load(0, kr, re_in);
    column.load(1, kr, im_in);
    DANAUS_UNROLL
    for (int i = 0; i < 8; ++i) x[kr][i] = {re_in[i], im_in[i]};
    DANAUS_UNROLL
    for (int i = 0; i < 8; ++i) x[kr][i] = times<T, true>(from_right<T, true>(own.n2, x[kr][i]), own.a[kr]);
  }
  u32 re[P::kRadix][8], im[P::kRadix][8];
  if constexpr (!P::kRealRows) {
    transform_rows_back<P>(x, c, wrap, re, im);
  } else {
    real_rows_back<P>(x, c, false, re);
    if (wrap) real_rows_back<P>(x, c, true, im);
  }
  DANAUS_UNROLL
  for (int nr = 0; nr < P::kRadix; ++nr) {
    if (P::kGateRing > 0 && gate.present) {
      column.store(0, nr, re[nr], gate_column);
      if constexpr (P::kPair) column.store(1, nr, im[nr], gate_column);
    } else {
      column.store(0, nr, re[nr]);
      if (P::kPair || wrap) column.store(1, nr, im[nr]);
    }
  }
}

// Step B on the line pairs from `first` on, and on the same ones of the next group where a batch has two; lines 2 pair
// and 2 pair + 1 of every slab, in place; row_at(s, row) is the place of that row of slab s. Several pairs at a time
// give a warp independent work while one waits for its loads and products.
template <class P, class RowAt, class TwiddlesOf>
DANAUS_DEVICE void convolve_lines(RowAt row_at, int first, const Constants<P>& c,
                                  const GroupMatrices (&groups)[P::kBatchGroups], const Words<4>* spectra,
                                  TwiddlesOf twiddles_of) {
  constexpr Dtype T = P::kType;
  constexpr int kPairs = P::kLinePairsAtOnce;
  const int lane = device::lane_index(), matrix = lane / 8, row = lane % 8;
  // Matrices re and im of line 2 pair, re and im of the next one. What tells the rows of a slab apart is in `at`, one
  // sum for all slabs, unless they have places of their own.
  const auto base_of = [&](int s) { return P::kApart ? row_at(s, matrix % 2) : row_at(s, 0); };
  SharedAddress at[kPairs];
  Complex2 x[kPairs][2][P::kSlabs];
  LineTwiddles<P> own[P::kBatchPairs][2];
  DANAUS_UNROLL
  for (int p = 0; p < kPairs; ++p) {
    const int pair = first + p % P::kBatchPairs, group = p / P::kBatchPairs;
    at[p] = swizzled(128 * (2 * pair + matrix / 2) + 16 * row) + 128 * P::kGroupLines * group +
            (P::kApart ? 0 : matrix % 2 * P::kRowBytes);
    DANAUS_UNROLL
    for (int s = 0; s < P::kSlabs; ++s) {
      const Words<4> w = device::load_matrices<4, true>(base_of(s) + at[p]);
      x[p][0][s] = {w[0], w[1]}, x[p][1][s] = {w[2], w[3]};
    }
  }
  DANAUS_UNROLL
  for (int p = 0; p < kPairs; ++p) {
    DANAUS_UNROLL
    for (int line = 0; line < 2; ++line) {
      auto& z = x[p][line];
      if constexpr (P::kColumns16) {
        radix_over_slabs<P, false>(z);
        DANAUS_UNROLL
        for (int s = 2; s < P::kSlabs; ++s) z[s] = times<T, false>(z[s], c.slab[s]);
        DANAUS_UNROLL
        for (int s = 0; s < P::kSlabs; s += 2) from_right<T>(c.sixteen, z[s], z[s + 1]);
      } else {
        radix_dft<T, P::kSlabs, false>(z);
        DANAUS_UNROLL
        for (int s = 0; s < P::kSlabs; ++s) {
          if (s > 0) z[s] = times<T, false>(z[s], c.slab[s]);
          z[s] = from_right<T, false>(c.n3, z[s]);
        }
      }
      auto& twiddles = own[p % P::kBatchPairs][line];
      if (p < P::kBatchPairs) twiddles = twiddles_of(2 * p + line);
      DANAUS_UNROLL
      for (int s = 0; s < P::kSlabs; ++s) z[s] = times<T, false>(z[s], twiddles.there[P::kColumns16 ? s % 2 : 0]);
    }
  }
  DANAUS_UNROLL
  for (int p = 0; p < kPairs; ++p) {
    const GroupMatrices& group = groups[p / P::kBatchPairs];
    DANAUS_UNROLL
    for (int s = 0; s < P::kSlabs; ++s) {
      from_left<T, false>(group.n4, x[p][0][s], x[p][1][s]);
      const Words<4> w = spectra[p * P::kSlabs + s];
      DANAUS_UNROLL
      for (int line = 0; line < 2; ++line) {
        Complex2& z = x[p][line][s];
        z = times<T, false>(z, {w[2 * line], w[2 * line + 1]});
        z = times<T, true>(from_right<T, true>(group.n4_back, z),
                           own[p % P::kBatchPairs][line].back[P::kColumns16 ? s % 2 : 0]);
      }
    }
  }
  DANAUS_UNROLL
  for (int p = 0; p < kPairs; ++p) {
    if constexpr (P::kColumns16) {
      DANAUS_UNROLL
      for (int s = 0; s < P::kSlabs; s += 2)
        from_left_inverse<T>(c.sixteen, x[p][0][s], x[p][0][s + 1], x[p][1][s], x[p][1][s + 1]);
      DANAUS_UNROLL
      for (int line = 0; line < 2; ++line) {
        DANAUS_UNROLL
        for (int s = 2; s < P::kSlabs; ++s) x[p][line][s] = times<T, true>(x[p][line][s], c.slab[s]);
        radix_over_slabs<P, true>(x[p][line]);
      }
    } else {
      DANAUS_UNROLL
      for (int s = 0; s < P::kSlabs; ++s) from_left<T, true>(c.n3, x[p][0][s], x[p][1][s]);
      DANAUS_UNROLL
      for (int line = 0; line < 2; ++line) {
        DANAUS_UNROLL
        for (int s = 1; s < P::kSlabs; ++s) x[p][line][s] = times<T, true>(x[p][line][s], c.slab[s]);
        radix_dft<T, P::kSlabs, true>(x[p][line]);
      }
    }
    DANAUS_UNROLL
    for (int s = 0; s < P::kSlabs; ++s)
      device::store_matrices<4, true>(base_of(s) + at[p],
                                      Words<4>{x[p][0][s].re, x[p][0][s].im, x[p][1][s].re, x[p][1][s].im});
  }
}

template <class P>
DANAUS_DEVICE void load_constants(const u32* tables, Constants<P>& c) {
  if constexpr (P::kRealRows) {
    load_real(tables, P::kWeightedAt, c.real);
    load_real(tables, P::kWeightedAt + P::kWeightedVectors, c.real_back);
  } else {
    c.n1 = load_matrix(tables, P::kPair ? P::kEightAt : P::kWeightedAt);
    c.n1_back = load_matrix(tables, P::kWeightedAt + P::kWeightedVectors);
  }
  c.n3 = load_matrix(tables, P::kEightAt + 1);
  c.sixteen = {load_matrix(tables, P::kSixteenAt), load_matrix(tables, P::kSixteenAt + 1),
               load_matrix(tables, P::kSixteenAt + 2)};
  DANAUS_UNROLL
  for (int i = 0; i < P::kRadix; ++i) {
    const Words<4> w = load_lane_words(tables, P::kOuterAt + i / 2);
    c.outer[i] = {w[i % 2 * 2], w[i % 2 * 2 + 1]};
  }
  DANAUS_UNROLL
  for (int i = 0; i < P::kSlabs; ++i) {
    const Words<4> w = load_lane_words(tables, P::kSlabAt + i / 2);
    c.slab[i] = {w[i % 2 * 2], w[i % 2 * 2 + 1]};
  }
}

}  // namespace exchange
}  // namespace danaus::inline DANAUS_BACKEND
