// The arithmetic of the exchange: its steps A, B and A back on slabs in shared memory.
#pragma once

#include "kernels/families/exchange/gates.hpp"
#include "kernels/tile/range.hpp"
#include "kernels/tile/rows64.hpp"

namespace danaus::exchange::inline DANAUS_BACKEND {

// The DFT over n4 there and back, with the split's part of a group of lines.
struct GroupMatrices {
  Matrix8 n4, n4_back;
};

template <class P>
struct Constants : RowConstants<P> {
  Matrix8 n3;
  Complex2 slab[P::layout.slabs];
};

template <class P>
DANAUS_DEVICE RowTwiddles<P> load_unit(const u32* tables, int unit, bool back) {
  const int at = P::layout.unit_at + (2 * unit + back) * P::layout.unit_vectors;
  RowTwiddles<P> c;
  c.n2 = load_matrix(tables, at);
  DANAUS_UNROLL
  for (int kr = 0; kr < P::layout.radix; kr += 2) {
    const Words<4> w = load_lane_words(tables, at + 1 + kr / 2);
    c.a[kr] = {w[0], w[1]};
    if (kr + 1 < P::layout.radix) c.a[kr + 1] = {w[2], w[3]};
  }
  return c;
}

// Twiddles of step B for one line, with the split's part of the line within its group: rows n4 and columns k3 there,
// the other way round back.
template <class P>
struct LineTwiddles {
  Complex2 there[P::layout.line_vectors], back[P::layout.line_vectors];
  DANAUS_DEVICE LineTwiddles() {}
  DANAUS_DEVICE LineTwiddles(const Words<4> (&w)[P::layout.line_vectors]) {
    if constexpr (P::layout.line_vectors == 1) {
      there[0] = {w[0][0], w[0][1]}, back[0] = {w[0][2], w[0][3]};
    } else {
      DANAUS_UNROLL
      for (int ks = 0; ks < 2; ++ks) {
        there[ks] = {w[0][2 * ks], w[0][2 * ks + 1]}, back[ks] = {w[1][2 * ks], w[1][2 * ks + 1]};
      }
    }
  }
};

// Over the upper digit of slabs whose lower one belongs to a DFT of 16 points.
template <class P, bool inverse>
DANAUS_DEVICE void radix_over_slabs(Complex2 (&z)[P::layout.slabs]) {
  DANAUS_UNROLL
  for (int low = 0; low < 2; ++low) {
    Complex2 part[P::layout.slabs / 2];
    DANAUS_UNROLL
    for (int i = 0; i < P::layout.slabs / 2; ++i) part[i] = z[2 * i + low];
    radix_dft<P::layout.slabs / 2, inverse>(part);
    DANAUS_UNROLL
    for (int i = 0; i < P::layout.slabs / 2; ++i) z[2 * i + low] = part[i];
  }
}

// Of a spectrum of which one half is computed, the tiles kr of step A's output that step B reads of what this lane has:
// bits.
template <class P>
struct LiveRows {
  u32 lane = ~0u;
  DANAUS_DEVICE bool of_lane(int kr) const {
    if constexpr (requires { P::layout.half; }) return !P::layout.half || (lane >> kr & 1);
    return true;
  }
};

// bf16 samples of a unit to f16, by a power of two of its own, whose exponent is left at `exponent_at`. `beyond`: real
// rows have an imaginary part in nr = 0.
template <class P, bool beyond>
DANAUS_DEVICE int narrow_unit(u32 (&re)[P::layout.radix][8], u32 (&im)[P::layout.radix][8], SharedAddress exponent_at) {
  int exponent = 0;
  if constexpr (P::layout.scaled) {
    exponent = scaled::narrow_all([&](auto visit) {
      DANAUS_UNROLL
      for (int nr = 0; nr < P::layout.radix; ++nr) {
        DANAUS_UNROLL
        for (int i = 0; i < 8; ++i) {
          visit(re[nr][i]);
          if (P::layout.pair || (beyond && nr == 0)) visit(im[nr][i]);
        }
      }
    });
    if (device::lane_index() == 0) device::store_shared<4>(exponent_at, {static_cast<u32>(exponent)});
  }
  return exponent;
}

// Which walk over a block's items: the first one, or that of items that it has noted, whose samples are f16 with powers
// of two of their rows.
enum class Walk { first, again };

// What becomes of the squares that a first walk sums (tile/range.hpp): here nothing.
struct NoJudge {
  static constexpr bool kJudges = false;
};

DANAUS_DEVICE void add_squares(range::LaneSquares<2>& squares, int row, const u32 (&tiles)[8]) {
  DANAUS_UNROLL
  for (int i = 0; i < 8; ++i) {
    if (row == 0)
      squares.template add<0>(tiles[i], i);
    else
      squares.template add<1>(tiles[i], i);
  }
}

// Step A on one unit, in place. `cut` is called with (nr, b) and words that are read, and gives them without what is
// not the row's. `beyond`: of the unit that has the first samples, `tail` are those beyond N (RowPlace in
// memory/rows.hpp), a chunk of them in the first lane, zeros in others. `live`: what step B reads of what
// is written (LiveRows). Squares of all samples are added to judge.squares; then judge() is called, before anything is
// written.
template <class P, bool beyond, Walk walk, class Cut, class Judge>
DANAUS_DEVICE void transform_column(const ConvolutionArguments& a, const Column<P>& column, const Gate<P>& pregate,
                                    const Constants<P>& c, const RowTwiddles<P>& own, Words<4> tail,
                                    SharedAddress exponent_at, Cut cut, LiveRows<P> live, Judge judge) {
  u32 re[P::layout.radix][8], im[P::layout.radix][8] = {};
  const auto load = [&](int row, int nr, u32(&tiles)[8]) {
    Words<4> words[2];
    DANAUS_UNROLL
    for (int b = 0; b < 2; ++b) {
      words[b] = column.words(row, nr, b);
      if (P::layout.gated && pregate.present) words[b] = gated<P::layout.dtype>(words[b], pregate.words(a, row, nr, b));
      words[b] = cut(nr, b, words[b]);
    }
    column.unpack(words[0], words[1], tiles);
    // Of bf16 once they are f16.
    if constexpr (Judge::kJudges && !P::layout.scaled) add_squares(judge.squares, row, tiles);
  };
  DANAUS_UNROLL
  for (int nr = 0; nr < P::layout.radix; ++nr) {
    load(0, nr, re[nr]);
    if constexpr (P::layout.pair) load(1, nr, im[nr]);
  }
  if constexpr (beyond) {
    column.unpack(tail, {}, im[0]);
    if constexpr (Judge::kJudges) add_squares(judge.squares, 0, im[0]);
  }
  if constexpr (walk == Walk::first) narrow_unit<P, beyond>(re, im, exponent_at);
  if constexpr (Judge::kJudges) {
    if constexpr (P::layout.scaled) {
      DANAUS_UNROLL
      for (int nr = 0; nr < P::layout.radix; ++nr)
        add_squares(judge.squares, 0, re[nr]), add_squares(judge.squares, 1, im[nr]);
    }
    judge();
  }
  const auto store = [&](int kr, const Complex2(&x)[8]) {
    if (!live.of_lane(kr)) return;
    u32 re_out[8], im_out[8];
    DANAUS_UNROLL
    for (int i = 0; i < 8; ++i) re_out[i] = x[i].re, im_out[i] = x[i].im;
    column.store(0, kr, re_out);
    column.store(1, kr, im_out);
  };
  rows_there<P, beyond>(re, im, c, own, store);
}

// The inverse. What step B did not write is zero.
template <class P, bool beyond, Walk walk>
DANAUS_DEVICE void transform_column_back(const ConvolutionArguments& a, const Column<P>& column,
                                         const Gate<P>& postgate, const Constants<P>& c, const RowTwiddles<P>& own,
                                         float factor, Words<4>& tail, LiveRows<P> live = {}) {
  u32 re[P::layout.radix][8], im[P::layout.radix][8];
  const auto load = [&](int kr, Complex2(&x)[8]) {
    u32 re_in[8] = {}, im_in[8] = {};
    if (live.of_lane(kr)) column.load(0, kr, re_in), column.load(1, kr, im_in);
    DANAUS_UNROLL
    for (int i = 0; i < 8; ++i) x[i] = {re_in[i], im_in[i]};
  };
  rows_back<P, beyond>(c, own, re, im, load);
  if constexpr (beyond) {
    Words<4> unused;
    column.pack(im[0], tail, unused);
  }
  DANAUS_UNROLL
  for (int nr = 0; nr < P::layout.radix; ++nr) {
    if constexpr (walk == Walk::again) {  // as f16
      column.store(0, nr, re[nr]);
      if constexpr (P::layout.pair) column.store(1, nr, im[nr]);
    } else {
      store_samples<P>(column, postgate, a, 0, nr, factor, re[nr]);
      if constexpr (P::layout.pair) store_samples<P>(column, postgate, a, 1, nr, factor, im[nr]);
    }
  }
}

// The registers of the line pairs that a warp has at once: of each pair two lines, in every slab.
template <class P>
using LinePairs = Complex2[P::layout.tuning.pairs][2][P::layout.slabs];
// Where they are in a slab, in `at`; twiddles of those of one group.
template <class P>
using LinePlaces = SharedAddress[P::layout.tuning.pairs];
template <class P>
using PairTwiddles = LineTwiddles<P>[P::layout.batch_pairs][2];

// Matrices re and im of line 2 pair, re and im of the next one. What tells the rows of a slab apart is in `at`, one sum
// for all slabs, unless they have places of their own.
template <class P, class RowAt>
DANAUS_DEVICE SharedAddress line_base(RowAt row_at, int s) {
  return P::layout.apart ? row_at(s, device::lane_index() / 8 % 2) : row_at(s, 0);
}

// Where this lane's part of them is in a slab, from line_base() on, in a group so many groups further.
template <class P>
DANAUS_DEVICE SharedAddress line_place(int pair, int group) {
  const int lane = device::lane_index(), matrix = lane / 8, row = lane % 8;
  return swizzled(128 * (2 * pair + matrix / 2) + 16 * row) + 128 * P::layout.group_lines * group +
         (P::layout.apart ? 0 : matrix % 2 * P::layout.row_bytes);
}

// The line pairs from `first` on, and the same ones of the next group where a batch has two; lines 2 pair and
// 2 pair + 1 of every slab; row_at(s, row) is the place of that row of slab s.
template <class P, class RowAt>
DANAUS_DEVICE void load_lines(RowAt row_at, int first, const u32 (&unit_scales)[P::layout.slabs], LinePlaces<P>& at,
                              LinePairs<P>& x) {
  DANAUS_UNROLL
  for (int p = 0; p < P::layout.tuning.pairs; ++p) {
    at[p] = line_place<P>(first + p % P::layout.batch_pairs, p / P::layout.batch_pairs);
    DANAUS_UNROLL
    for (int s = 0; s < P::layout.slabs; ++s) {
      const Words<4> w = device::load_matrices<4, true>(line_base<P>(row_at, s) + at[p]);
      x[p][0][s] = {w[0], w[1]}, x[p][1][s] = {w[2], w[3]};
      if constexpr (P::layout.scaled && P::layout.units > 1) {
        DANAUS_UNROLL
        for (int line = 0; line < 2; ++line) {
          Complex2& z = x[p][line][s];
          z = {device::mul2(z.re, unit_scales[s]), device::mul2(z.im, unit_scales[s])};
        }
      }
    }
  }
}

// The DFT over (ns,) n3 of them, and the twiddle after it, which twiddles_of(line) gives.
template <class P, class TwiddlesOf>
DANAUS_DEVICE void transform_lines(const Constants<P>& c, TwiddlesOf twiddles_of, PairTwiddles<P>& own,
                                   LinePairs<P>& x) {
  DANAUS_UNROLL
  for (int p = 0; p < P::layout.tuning.pairs; ++p) {
    DANAUS_UNROLL
    for (int line = 0; line < 2; ++line) {
      auto& z = x[p][line];
      if constexpr (P::layout.columns16) {
        radix_over_slabs<P, false>(z);
        DANAUS_UNROLL
        for (int s = 2; s < P::layout.slabs; ++s) z[s] = times<false>(z[s], c.slab[s]);
        DANAUS_UNROLL
        for (int s = 0; s < P::layout.slabs; s += 2) from_right(c.sixteen, z[s], z[s + 1]);
      } else {
        radix_dft<P::layout.slabs, false>(z);
        DANAUS_UNROLL
        for (int s = 0; s < P::layout.slabs; ++s) {
          if (s > 0) z[s] = times<false>(z[s], c.slab[s]);
          z[s] = from_right<false>(c.n3, z[s]);
        }
      }
      auto& twiddles = own[p % P::layout.batch_pairs][line];
      if (p < P::layout.batch_pairs) twiddles = twiddles_of(2 * p + line);
      DANAUS_UNROLL
      for (int s = 0; s < P::layout.slabs; ++s)
        z[s] = times<false>(z[s], twiddles.there[P::layout.columns16 ? s % 2 : 0]);
    }
  }
}

// Zeros for a batch of line pairs of which no frequency is live, behind step B.
template <class P, class RowAt>
DANAUS_DEVICE void clear_lines(RowAt row_at, int first) {
  DANAUS_UNROLL
  for (int p = 0; p < P::layout.tuning.pairs; ++p) {
    const SharedAddress at = line_place<P>(first + p % P::layout.batch_pairs, p / P::layout.batch_pairs);
    DANAUS_UNROLL
    for (int s = 0; s < P::layout.slabs; ++s) device::store_matrices<4, true>(line_base<P>(row_at, s) + at, Words<4>{});
  }
}

// The two lines of a pair in slab s from their frequencies, times the spectrum or its conjugate, back to before the
// twiddle.
template <class P, bool conjugate>
DANAUS_DEVICE void multiply_lines(const GroupMatrices& group, const Words<4>& spectrum, const LineTwiddles<P> (&own)[2],
                                  int s, Complex2 (&x)[2][P::layout.slabs]) {
  DANAUS_UNROLL
  for (int line = 0; line < 2; ++line) {
    Complex2& z = x[line][s];
    z = times<conjugate>(z, {spectrum[2 * line], spectrum[2 * line + 1]});
    z = times<true>(from_right<true>(group.n4_back, z), own[line].back[P::layout.columns16 ? s % 2 : 0]);
  }
}

// The inverse DFT over (ns,) n3 of a pair of lines, back to its place.
template <class P, class RowAt>
DANAUS_DEVICE void transform_lines_back(RowAt row_at, SharedAddress at, const Constants<P>& c,
                                        Complex2 (&x)[2][P::layout.slabs]) {
  if constexpr (P::layout.columns16) {
    DANAUS_UNROLL
    for (int s = 0; s < P::layout.slabs; s += 2)
      from_left_inverse(c.sixteen, x[0][s], x[0][s + 1], x[1][s], x[1][s + 1]);
    DANAUS_UNROLL
    for (int line = 0; line < 2; ++line) {
      DANAUS_UNROLL
      for (int s = 2; s < P::layout.slabs; ++s) x[line][s] = times<true>(x[line][s], c.slab[s]);
      radix_over_slabs<P, true>(x[line]);
    }
  } else {
    DANAUS_UNROLL
    for (int s = 0; s < P::layout.slabs; ++s) from_left<true>(c.n3, x[0][s], x[1][s]);
    DANAUS_UNROLL
    for (int line = 0; line < 2; ++line) {
      DANAUS_UNROLL
      for (int s = 1; s < P::layout.slabs; ++s) x[line][s] = times<true>(x[line][s], c.slab[s]);
      radix_dft<P::layout.slabs, true>(x[line]);
    }
  }
  DANAUS_UNROLL
  for (int s = 0; s < P::layout.slabs; ++s)
    device::store_matrices<4, true>(line_base<P>(row_at, s) + at,
                                    Words<4>{x[0][s].re, x[0][s].im, x[1][s].re, x[1][s].im});
}

// Step B on a batch of line pairs, in place. Several pairs at a time give a warp independent work while one waits for
// its loads and products.
template <class P, class RowAt, class TwiddlesOf>
DANAUS_DEVICE void convolve_lines(RowAt row_at, int first, const Constants<P>& c,
                                  const GroupMatrices (&groups)[P::layout.batch_groups], const Words<4>* spectra,
                                  const u32 (&unit_scales)[P::layout.slabs], TwiddlesOf twiddles_of) {
  constexpr int kPairs = P::layout.tuning.pairs;
  LinePlaces<P> at;
  LinePairs<P> x;
  PairTwiddles<P> own;
  load_lines<P>(row_at, first, unit_scales, at, x);
  transform_lines<P>(c, twiddles_of, own, x);
  DANAUS_UNROLL
  for (int p = 0; p < kPairs; ++p) {
    const GroupMatrices& group = groups[p / P::layout.batch_pairs];
    DANAUS_UNROLL
    for (int s = 0; s < P::layout.slabs; ++s) {
      from_left<false>(group.n4, x[p][0][s], x[p][1][s]);
      multiply_lines<P, false>(group, spectra[p * P::layout.slabs + s], own[p % P::layout.batch_pairs], s, x[p]);
    }
  }
  DANAUS_UNROLL
  for (int p = 0; p < kPairs; ++p) transform_lines_back<P>(row_at, at[p], c, x[p]);
}

// Units of step A have powers of two of their own, whose exponents are from `exponents` on. What makes them the
// greatest one's, which it returns, of each slab's tiles.
template <class P>
DANAUS_DEVICE int scale_units(SharedAddress exponents, u32 (&unit_scales)[P::layout.slabs]) {
  const int lane = device::lane_index(), t = lane % 4;
  const auto exponent_of = [=](int unit) { return static_cast<int>(device::load_shared<4>(exponents + 4 * unit)[0]); };
  int greatest = lane < P::layout.units ? exponent_of(lane) : 0;
  if (P::layout.units > 32 && lane + 32 < P::layout.units) greatest = max(greatest, exponent_of(lane + 32));
  greatest = static_cast<int>(device::max_of_warp(greatest));
  if constexpr (P::layout.units > 1) {
    DANAUS_UNROLL
    for (int s = 0; s < P::layout.slabs; ++s) {
      const int unit = s * P::layout.column_chunks + 2 * t % P::layout.column_chunks;
      const auto below = [&](int u) { return scaled::power_of_two(max(127 + exponent_of(u) - greatest, 1)); };
      unit_scales[s] = device::pack2(below(unit), below(unit + 1));
    }
  }
  return greatest;
}

// Those of step B, of the tables of P, which may have more rows.
template <class P, class Q>
DANAUS_DEVICE void load_columns(const u32* tables, Constants<Q>& c) {
  c.sixteen = {load_matrix(tables, P::layout.sixteen_at), load_matrix(tables, P::layout.sixteen_at + 1),
               load_matrix(tables, P::layout.sixteen_at + 2)};
  c.n3 = load_matrix(tables, P::layout.eight_at + 1);
  DANAUS_UNROLL
  for (int i = 0; i < P::layout.slabs; ++i) {
    const Words<4> w = load_lane_words(tables, P::layout.slab_at + i / 2);
    c.slab[i] = {w[i % 2 * 2], w[i % 2 * 2 + 1]};
  }
}

template <class P>
DANAUS_DEVICE void load_constants(const u32* tables, Constants<P>& c) {
  load_rows<P>(tables, c);
  load_columns<P>(tables, c);
}

}  // namespace danaus::exchange::inline DANAUS_BACKEND
