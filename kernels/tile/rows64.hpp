// A DFT of 64 r points down columns: eight tiles hold eight columns of 8 x 8 rows, and r of them are a column's whole
// length. n = 64 nr + 8 n1 + n2, k = kr + r (k1 + 8 k2).
//
// P::layout says where constants are in a table (rows64_table.hpp), and how: radix (r), pair (complex data, or real
// data that the right angle weights), rows16 (nr and n1 are one digit of 16), real_rows (of real data, nr and n1 are
// one digit of 8 r).
#pragma once

#include "kernels/tile/radix.hpp"

namespace danaus::inline DANAUS_BACKEND {

template <class P>
struct RowConstants {
  Matrix8 n1, n1_back;  // with the weights of the right angle, the second transposed
  RealMatrix<P::layout.real_rows ? P::layout.radix : 1> real,
      real_back;  // both for (nr, n1) where that is one digit of real data
  SplitMatrix16 sixteen;
  Complex2 outer[P::layout.radix];
};

// In one direction: DFT8 n2 and the twiddle before (after) it, with what else is to be multiplied by.
template <class P>
struct RowTwiddles {
  Matrix8 n2;
  Complex2 a[P::layout.radix];
};

template <class P>
DANAUS_DEVICE void load_rows(const u32* tables, RowConstants<P>& c) {
  if constexpr (P::layout.real_rows) {
    load_real(tables, P::layout.weighted_at, c.real);
    load_real(tables, P::layout.weighted_at + P::layout.weighted_vectors, c.real_back);
  } else {
    c.n1 = load_matrix(tables, P::layout.pair ? P::layout.eight_at : P::layout.weighted_at);
    if constexpr (!P::layout.pair) c.n1_back = load_matrix(tables, P::layout.weighted_at + P::layout.weighted_vectors);
  }
  c.sixteen = {load_matrix(tables, P::layout.sixteen_at), load_matrix(tables, P::layout.sixteen_at + 1),
               load_matrix(tables, P::layout.sixteen_at + 2)};
  DANAUS_UNROLL
  for (int i = 0; i < P::layout.radix; ++i) {
    const Words<4> w = load_lane_words(tables, P::layout.outer_at + i / 2);
    c.outer[i] = {w[i % 2 * 2], w[i % 2 * 2 + 1]};
  }
}

// The DFT over nr and n1 of complex data, or of real data that is not one digit, whose first rows may have an imaginary
// part (`beyond`).
template <class P, bool beyond>
DANAUS_DEVICE void transform_rows(const u32 (&re)[P::layout.radix][8], const u32 (&im)[P::layout.radix][8],
                                  const RowConstants<P>& c, Complex2 (&x)[P::layout.radix][8]) {
  DANAUS_UNROLL
  for (int i = 0; i < 8; ++i) {
    Complex2 z[P::layout.radix];
    if constexpr (P::layout.rows16) {
      z[0] = {re[0][i], im[0][i]}, z[1] = {re[1][i], im[1][i]};
      from_right(c.sixteen, z[0], z[1]);
    } else {
      u32 re_of[P::layout.radix], im_of[P::layout.radix];
      DANAUS_UNROLL
      for (int nr = 0; nr < P::layout.radix; ++nr) re_of[nr] = re[nr][i], im_of[nr] = im[nr][i];
      samples_to_radix<P::layout.pair>(re_of, im_of, z);
      if constexpr (beyond) add_imaginary_first(im[0][i], z);
      DANAUS_UNROLL
      for (int kr = 0; kr < P::layout.radix; ++kr) {
        if (kr > 0) z[kr] = times<false>(z[kr], c.outer[kr]);
        z[kr] = from_right<false>(c.n1, z[kr]);
      }
    }
    DANAUS_UNROLL
    for (int kr = 0; kr < P::layout.radix; ++kr) x[kr][i] = z[kr];
  }
}

// The inverse; of the right angle the real part, and of nr = 0 the imaginary one if it is wanted (`beyond`).
template <class P, bool beyond>
DANAUS_DEVICE void transform_rows_back(Complex2 (&x)[P::layout.radix][8], const RowConstants<P>& c,
                                       u32 (&re)[P::layout.radix][8], u32 (&im)[P::layout.radix][8]) {
  if constexpr (P::layout.rows16) {
    DANAUS_UNROLL
    for (int i = 0; i < 8; i += 2) from_left_inverse(c.sixteen, x[0][i], x[1][i], x[0][i + 1], x[1][i + 1]);
  } else {
    DANAUS_UNROLL
    for (int kr = 0; kr < P::layout.radix; ++kr) {
      DANAUS_UNROLL
      for (int i = 0; i < 8; i += 2) from_left<true>(P::layout.pair ? c.n1 : c.n1_back, x[kr][i], x[kr][i + 1]);
      DANAUS_UNROLL
      for (int i = 0; i < 8; ++i)
        if (kr > 0) x[kr][i] = times<true>(x[kr][i], c.outer[kr]);
    }
  }
  DANAUS_UNROLL
  for (int i = 0; i < 8; ++i) {
    Complex2 z[P::layout.radix];
    DANAUS_UNROLL
    for (int kr = 0; kr < P::layout.radix; ++kr) z[kr] = x[kr][i];
    if constexpr (P::layout.rows16) {
      re[0][i] = z[0].re, im[0][i] = z[0].im, re[1][i] = z[1].re, im[1][i] = z[1].im;
    } else {
      if constexpr (beyond) im[0][i] = imaginary_first(z);
      u32 re_of[P::layout.radix], im_of[P::layout.radix] = {};
      radix_to_samples<P::layout.pair>(z, re_of, im_of);
      DANAUS_UNROLL
      for (int nr = 0; nr < P::layout.radix; ++nr) {
        re[nr][i] = re_of[nr];
        if constexpr (P::layout.pair) im[nr][i] = im_of[nr];
      }
    }
  }
}

// What an imaginary part of the rows of nr = 0 adds to output tile kr of real data.
template <class P>
DANAUS_DEVICE void add_imaginary(u32 tile, const RowConstants<P>& c, int kr, Complex2& x) {
  u32 rows[P::layout.radix] = {tile};
  const Complex2 turned = real_from_right(c.real, kr, rows);
  x = add(x, {device::negate2(turned.im), turned.re});
}

// The inverse for real data: row tile nr of the real part, or the imaginary one.
template <class P>
DANAUS_DEVICE void real_rows_back(const Complex2 (&x)[P::layout.radix][8], const RowConstants<P>& c, int nr,
                                  bool imaginary, u32 (&out)[8]) {
  DANAUS_UNROLL
  for (int i = 0; i < 8; i += 2) {
    Complex2 p[P::layout.radix], q[P::layout.radix];
    DANAUS_UNROLL
    for (int kr = 0; kr < P::layout.radix; ++kr) p[kr] = x[kr][i], q[kr] = x[kr][i + 1];
    real_from_left(c.real_back, nr, p, q, imaginary, out[i], out[i + 1]);
  }
}

// From samples re and im [nr][column] to store(kr, x [column]), where lanes have k2 = 2t+e and k1 = g. `beyond`: the
// first rows of real data have an imaginary part too.
template <class P, bool beyond, class Store>
DANAUS_DEVICE void rows_there(const u32 (&re)[P::layout.radix][8], const u32 (&im)[P::layout.radix][8],
                              const RowConstants<P>& c, const RowTwiddles<P>& own, Store store) {
  Complex2 x[P::layout.radix][8];
  if constexpr (!P::layout.real_rows) transform_rows<P, beyond>(re, im, c, x);
  DANAUS_UNROLL
  for (int kr = 0; kr < P::layout.radix; ++kr) {
    if constexpr (P::layout.real_rows) {  // what real data becomes is twice as large: a part of it at a time
      DANAUS_UNROLL
      for (int i = 0; i < 8; ++i) {
        u32 real[P::layout.radix];
        DANAUS_UNROLL
        for (int nr = 0; nr < P::layout.radix; ++nr) real[nr] = re[nr][i];
        x[kr][i] = real_from_right(c.real, kr, real);
        if constexpr (beyond) add_imaginary<P>(im[0][i], c, kr, x[kr][i]);
      }
    }
    DANAUS_UNROLL
    for (int i = 0; i < 8; ++i) x[kr][i] = times<false>(x[kr][i], own.a[kr]);
    DANAUS_UNROLL
    for (int i = 0; i < 8; i += 2) from_left<false>(own.n2, x[kr][i], x[kr][i + 1]);
    store(kr, x[kr]);
  }
}

// The inverse, from load(kr, x) to samples: of the right angle the real part, and the imaginary one of the first rows
// if it is wanted.
template <class P, bool beyond, class Load>
DANAUS_DEVICE void rows_back(const RowConstants<P>& c, const RowTwiddles<P>& own, u32 (&re)[P::layout.radix][8],
                             u32 (&im)[P::layout.radix][8], Load load) {
  Complex2 x[P::layout.radix][8];
  DANAUS_UNROLL
  for (int kr = 0; kr < P::layout.radix; ++kr) {
    load(kr, x[kr]);
    DANAUS_UNROLL
    for (int i = 0; i < 8; ++i) x[kr][i] = times<true>(from_right<true>(own.n2, x[kr][i]), own.a[kr]);
  }
  if constexpr (!P::layout.real_rows) {
    transform_rows_back<P, beyond>(x, c, re, im);
  } else {
    DANAUS_UNROLL
    for (int nr = 0; nr < P::layout.radix; ++nr) real_rows_back<P>(x, c, nr, false, re[nr]);
    if constexpr (beyond) real_rows_back<P>(x, c, 0, true, im[0]);
  }
}

}  // namespace danaus::inline DANAUS_BACKEND
