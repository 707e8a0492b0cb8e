// Complex 8 x 8 tiles, a warp wide: the register arithmetic that every kernel is made of.
//
// Lane 4 g + t holds, with e = 0, 1 the half of a register, the element [row 2t+e][column g] of a tile. So one index of
// the data is in (2t+e), one in g, and all others number the tiles. Real and imaginary parts are in separate registers.
//
//            g = 0        1       ...     7
//   2t+e=0   lane 0 low   lane 4  ...  lane 28
//   2t+e=1   lane 0 high
//   2t+e=2   lane 1 low            ...
//
// A DFT of 8 points is one real 16 x 16 matrix [[Fr, -Fi], [Fi, Fr]], that is, one m16n8k16 for eight of them:
//   from the right  contracts (2t+e), leaves the result in g, and what was in g in (2t+e)
//   from the left   contracts (2t+e) in place, two tiles at a time
// The inverse DFT acts on (im, re) as the DFT acts on (re, im), up to the scale: conjugation swaps registers.
#pragma once

#include "kernels/device/operations.hpp"

namespace danaus::inline DANAUS_BACKEND {

struct Complex2 {
  u32 re, im;
};

DANAUS_DEVICE Complex2 add(Complex2 a, Complex2 b) { return {device::add2(a.re, b.re), device::add2(a.im, b.im)}; }
DANAUS_DEVICE Complex2 subtract(Complex2 a, Complex2 b) { return {device::sub2(a.re, b.re), device::sub2(a.im, b.im)}; }

// Element [out][in] of a matrix at out = g, in = 2t+e, as the four A registers: re, im, -im, re.
struct Matrix8 {
  u32 a[4];
};

// Products of matrices, rounded after each instruction; the second with a contraction over 16 complex points, a0 b0 +
// a1 b1.
DANAUS_DEVICE void multiply_matrix(u32 (&d)[2], const u32 (&a)[4], const u32 (&b)[2]) {
  d[0] = d[1] = 0;
  device::mma_f16acc(d, a, b);
}
DANAUS_DEVICE void multiply_matrices(u32 (&d)[2], const u32 (&a0)[4], const u32 (&b0)[2], const u32 (&a1)[4],
                                     const u32 (&b1)[2]) {
  multiply_matrix(d, a0, b0);
  device::mma_f16acc(d, a1, b1);
}

template <bool inverse>
DANAUS_DEVICE Complex2 from_right(const Matrix8& m, Complex2 x) {
  u32 d[2];
  if constexpr (!inverse) {
    multiply_matrix(d, m.a, {x.re, x.im});
    return {d[0], d[1]};
  } else {
    multiply_matrix(d, m.a, {x.im, x.re});
    return {d[1], d[0]};
  }
}

// With im before re in the contraction, the aligned register pairs (-im, re) and (re, im) of the matrix give re and im.
template <bool inverse>
DANAUS_DEVICE void from_left(const Matrix8& m, Complex2& p, Complex2& q) {
  u32 first[2], second[2];
  const u32 x[4] = {inverse ? p.re : p.im, inverse ? q.re : q.im, inverse ? p.im : p.re, inverse ? q.im : q.re};
  multiply_matrix(first, x, {m.a[2], m.a[3]});  // re of both, or im where the registers are swapped
  multiply_matrix(second, x, {m.a[0], m.a[1]});
  p = inverse ? Complex2{second[0], first[0]} : Complex2{first[0], second[0]};
  q = inverse ? Complex2{second[1], first[1]} : Complex2{first[1], second[1]};
}

// A DFT of 16 points: one more bit of the index numbers two tiles. block[i][j] maps input tile j to output tile i.
struct Matrix16 {
  Matrix8 block[2][2];
};

template <bool inverse>
DANAUS_DEVICE void from_right(const Matrix16& m, Complex2& x0, Complex2& x1) {
  Complex2 y[2];
  DANAUS_UNROLL
  for (int i = 0; i < 2; ++i) {
    u32 d[2];
    if constexpr (!inverse) {
      multiply_matrices(d, m.block[i][0].a, {x0.re, x0.im}, m.block[i][1].a, {x1.re, x1.im});
      y[i] = {d[0], d[1]};
    } else {
      multiply_matrices(d, m.block[i][0].a, {x0.im, x0.re}, m.block[i][1].a, {x1.im, x1.re});
      y[i] = {d[1], d[0]};
    }
  }
  x0 = y[0], x1 = y[1];
}

// p[j], q[j]: input tile j of two sequences of tiles.
template <bool inverse>
DANAUS_DEVICE void from_left(const Matrix16& m, Complex2& p0, Complex2& p1, Complex2& q0, Complex2& q1) {
  const u32 x0[4] = {inverse ? p0.re : p0.im, inverse ? q0.re : q0.im, inverse ? p0.im : p0.re,
                     inverse ? q0.im : q0.re};
  const u32 x1[4] = {inverse ? p1.re : p1.im, inverse ? q1.re : q1.im, inverse ? p1.im : p1.re,
                     inverse ? q1.im : q1.re};
  Complex2 p[2], q[2];
  DANAUS_UNROLL
  for (int i = 0; i < 2; ++i) {
    const auto& b0 = m.block[i][0].a;
    const auto& b1 = m.block[i][1].a;
    u32 first[2], second[2];
    multiply_matrices(first, x0, {b0[2], b0[3]}, x1, {b1[2], b1[3]});
    multiply_matrices(second, x0, {b0[0], b0[1]}, x1, {b1[0], b1[1]});
    p[i] = inverse ? Complex2{second[0], first[0]} : Complex2{first[0], second[0]};
    q[i] = inverse ? Complex2{second[1], first[1]} : Complex2{first[1], second[1]};
  }
  p0 = p[0], p1 = p[1], q0 = q[0], q1 = q[1];
}

// A DFT of 16 points, n = 8 j + n' and k = 2 k' + i, where j and i number tiles: even k are F8 (x0 + x1), odd ones
// G (x0 - x1) with G[k'][n'] = w16^((2 k' + 1) n'). Against one matrix of 16 x 16 this is half the instructions.
struct SplitMatrix16 {
  Matrix8 even, odd, odd_back;  // odd_back is odd transposed
};

DANAUS_DEVICE void from_right(const SplitMatrix16& m, Complex2& x0, Complex2& x1) {
  const Complex2 difference = subtract(x0, x1);
  x0 = from_right<false>(m.even, add(x0, x1));
  x1 = from_right<false>(m.odd, difference);
}

// The inverse, for two sequences of tiles p and q.
DANAUS_DEVICE void from_left_inverse(const SplitMatrix16& m, Complex2& p0, Complex2& p1, Complex2& q0, Complex2& q1) {
  from_left<true>(m.even, p0, q0);
  from_left<true>(m.odd_back, p1, q1);
  const Complex2 p = p0, q = q0;
  p0 = add(p, p1), p1 = subtract(p, p1);
  q0 = add(q, q1), q1 = subtract(q, q1);
}

// A DFT of 8 r points in r tiles where the data is real before it, or only one part is wanted after an inverse one:
// half the work is enough. block[i][j], re and im, maps input tile j to output tile i.
template <int r>
struct RealMatrix {
  u32 block[r][r][2];
};

// Output tile i.
template <int r>
DANAUS_DEVICE Complex2 real_from_right(const RealMatrix<r>& m, int i, const u32 (&x)[r]) {
  u32 d[2] = {0, 0};
  DANAUS_UNROLL
  for (int j = 0; j + 1 < r; j += 2)
    device::mma_f16acc(d, {m.block[i][j][0], m.block[i][j][1], m.block[i][j + 1][0], m.block[i][j + 1][1]},
                       {x[j], x[j + 1]});
  if constexpr (r % 2 == 1) device::mma_f16acc(d, m.block[i][r - 1], x[r - 1]);
  return {d[0], d[1]};
}

// Output tile i of the real or the imaginary part of conj(m) applied from the left, for two sequences of tiles, p and
// q.
template <int r>
DANAUS_DEVICE void real_from_left(const RealMatrix<r>& m, int i, const Complex2 (&p)[r], const Complex2 (&q)[r],
                                  bool imaginary, u32& of_p, u32& of_q) {
  u32 d[2] = {0, 0};
  DANAUS_UNROLL
  for (int j = 0; j < r; ++j) {
    const auto& [re, im] = m.block[i][j];
    device::mma_f16acc(d, {p[j].re, q[j].re, p[j].im, q[j].im},
                       {imaginary ? device::negate2(im) : re, imaginary ? re : im});
  }
  of_p = d[0], of_q = d[1];
}

// Four registers of constants, lane by lane: word 4 (32 vector + lane) + i of a table.
DANAUS_DEVICE Words<4> load_lane_words(const u32* table, int vector) {
  return device::load_constant<16>(table + 4 * (32 * vector + device::lane_index()));
}

DANAUS_DEVICE Matrix8 matrix_of(Words<4> w) { return {w[0], w[1], w[2], w[3]}; }
DANAUS_DEVICE Matrix8 load_matrix(const u32* table, int vector) { return matrix_of(load_lane_words(table, vector)); }

template <int r>
DANAUS_DEVICE void load_real(const u32* table, int at, RealMatrix<r>& m) {
  DANAUS_UNROLL
  for (int first = 0; first < r * r; first += 2) {
    const Words<4> w = load_lane_words(table, at + first / 2);
    DANAUS_UNROLL
    for (int n = first; n < r * r && n < first + 2; ++n) {
      DANAUS_UNROLL
      for (int part = 0; part < 2; ++part) m.block[n / r][n % r][part] = w[2 * (n % 2) + part];
    }
  }
}

// The 128-byte swizzle of bulk tensor copies, on byte addresses of shared memory: 16-byte chunk c of line l is at
// c ^ (l mod 8).
DANAUS_DEVICE SharedAddress swizzled(SharedAddress linear) { return linear ^ ((linear >> 3) & 0x70); }

// a w - b v, a w + b v.
DANAUS_DEVICE u32 difference_of_products(u32 a, u32 w, u32 b, u32 v) { return device::fms2(a, w, device::mul2(b, v)); }
DANAUS_DEVICE u32 sum_of_products(u32 a, u32 w, u32 b, u32 v) { return device::fma2(b, v, device::mul2(a, w)); }

// x w, or x conj(w).
template <bool conjugate>
DANAUS_DEVICE Complex2 times(Complex2 x, Complex2 w) {
  if constexpr (!conjugate)
    return {difference_of_products(x.re, w.re, x.im, w.im), sum_of_products(x.im, w.re, x.re, w.im)};
  else
    return {sum_of_products(x.re, w.re, x.im, w.im), difference_of_products(x.im, w.re, x.re, w.im)};
}

// 256 points in four tiles x[i][j], rows n1 = 8 i + 2t+e and columns n2 = 8 j + g, n = 16 n1 + n2.
using Tiles256 = Complex2[2][2];

// Of DFT16 over n1 | twiddle | DFT16 over n2 | spectrum | and back, what is between the stages over n1: k = k1 + 16 k2;
// spectrum[i] holds k1 = 8 i + g and k2 = 8 j + 2t+e as words 2 j (re) and 2 j + 1 (im). twiddle[i][j] is for
// k1 = 8 i + g and n2 = 8 j + 2t+e; twiddle_back[i][j], for n2 = 8 i + g and k1 = 8 j + 2t+e. On the way back of a
// correlation the spectrum is conjugated.
DANAUS_DEVICE void columns_there(Tiles256& x, const Matrix16& dft, const Complex2 (&twiddle)[2][2]) {
  // Columns k1 = 8 i + g, rows n2 = 8 j + 2t+e.
  DANAUS_UNROLL
  for (int i = 0; i < 2; ++i) {
    DANAUS_UNROLL
    for (int j = 0; j < 2; ++j) x[i][j] = times<false>(x[i][j], twiddle[i][j]);
  }
  from_left<false>(dft, x[0][0], x[0][1], x[1][0], x[1][1]);
}
template <bool conjugate>
DANAUS_DEVICE void columns_back(Tiles256& x, const Matrix16& dft, const Complex2 (&twiddle_back)[2][2],
                                const Words<4> (&spectrum)[2]) {
  // Rows k2 = 8 j + 2t+e.
  DANAUS_UNROLL
  for (int i = 0; i < 2; ++i) {
    DANAUS_UNROLL
    for (int j = 0; j < 2; ++j) x[i][j] = times<conjugate>(x[i][j], {spectrum[i][2 * j], spectrum[i][2 * j + 1]});
  }
  DANAUS_UNROLL
  for (int i = 0; i < 2; ++i) from_right<true>(dft, x[i][0], x[i][1]);
  // Columns n2 = 8 j + g, rows k1 = 8 i + 2t+e.
  DANAUS_UNROLL
  for (int i = 0; i < 2; ++i) {
    DANAUS_UNROLL
    for (int j = 0; j < 2; ++j) x[i][j] = times<true>(x[i][j], twiddle_back[j][i]);
  }
}
DANAUS_DEVICE void convolve_tiles(Tiles256& x, const Matrix16& dft, const Complex2 (&twiddle)[2][2],
                                  const Complex2 (&twiddle_back)[2][2], const Words<4> (&spectrum)[2]) {
  columns_there(x, dft, twiddle);
  columns_back<false>(x, dft, twiddle_back, spectrum);
}

}  // namespace danaus::inline DANAUS_BACKEND
