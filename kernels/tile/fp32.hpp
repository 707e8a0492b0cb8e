// Complex arithmetic in fp32, and DFTs of the points that one thread holds: r = 2^a 3^b, by radices 4, 3 and 2,
// and 5 and 7.
#pragma once

#include "kernels/device/operations.hpp"
#include "kernels/tile/sine.hpp"

namespace danaus::inline DANAUS_BACKEND::fp32 {

struct Complex {
  float re, im;
};

DANAUS_DEVICE Complex operator+(Complex a, Complex b) {
  device::count_fp32(2);
  return {a.re + b.re, a.im + b.im};
}
DANAUS_DEVICE Complex operator-(Complex a, Complex b) {
  device::count_fp32(2);
  return {a.re - b.re, a.im - b.im};
}
DANAUS_DEVICE Complex operator*(Complex a, Complex b) {
  device::count_fp32(6);
  return {device::fma(a.re, b.re, -(a.im * b.im)), device::fma(a.re, b.im, a.im * b.re)};
}
DANAUS_DEVICE Complex operator*(float a, Complex b) {
  device::count_fp32(2);
  return {a * b.re, a * b.im};
}
// a b + c
DANAUS_DEVICE Complex times_add(float a, Complex b, Complex c) {
  device::count_fp32(4);
  return {device::fma(a, b.re, c.re), device::fma(a, b.im, c.im)};
}
DANAUS_DEVICE Complex minus_i_times(Complex a) { return {a.im, -a.re}; }
DANAUS_DEVICE Complex conjugate(Complex a) { return {a.re, -a.im}; }

// exp(i pi numerator / denominator) for |numerator| <= denominator, to one unit in the last place.
DANAUS_DEVICE Complex turn(int numerator, int denominator) {
  const float x = static_cast<float>(numerator) / static_cast<float>(denominator);
  const float quarters = device::nearest(2 * x), r = device::fma(quarters, -0.5f, x), s = r * r;
  // sin(pi r) = pi r + r s S(s) and cos(pi r) = 1 + s C(s) for |r| <= 1/4; the polynomials are minimax fits.
  float sine = device::fma(s, 0.0810304213f, -0.599206087f);
  sine = device::fma(s, device::fma(s, sine, 2.55016283f), -5.16771277f);
  sine = device::fma(r, 3.14159274f, device::fma(r, -8.74227801e-8f, r * s * sine));
  float cosine = device::fma(s, 0.231429544f, -1.33505846f);
  cosine = device::fma(s, device::fma(s, device::fma(s, cosine, 4.0587079f), -4.93480217f), 1);
  const int quarter = static_cast<int>(quarters);
  const Complex first = quarter % 2 ? Complex{-sine, cosine} : Complex{cosine, sine};  // i times it is {-sine, cosine}
  return quarter & 2 ? Complex{-first.re, -first.im} : first;
}

// exp(2 pi i numerator / 4 quarter) for |numerator| < 4 quarter.
DANAUS_DEVICE Complex turn_of_quarters(int numerator, int quarter) {
  if (numerator > 2 * quarter) numerator -= 4 * quarter;
  if (numerator < -2 * quarter) numerator += 4 * quarter;
  return turn(numerator, 2 * quarter);
}

// exp(-2 pi i k / n) for k < n.
template <int n>
struct Roots {
  Complex at[n];
};
template <int n>
constexpr Roots<n> make_roots() {
  Roots<n> roots{};
  for (int k = 0; k < n; ++k)
    roots.at[k] = {static_cast<float>(sine_of_turn((4 * k + n) % (4 * n), 4 * n)),
                   static_cast<float>(-sine_of_turn(k, n))};
  return roots;
}
template <int n>
inline constexpr Roots<n> kRoots = make_roots<n>();

// x exp(-2 pi i k / n), without products where there need be none; k is a constant of an unrolled loop.
template <int n>
DANAUS_DEVICE Complex times_root(Complex x, int k) {
  constexpr Roots<n> roots = kRoots<n>;
  k %= n;
  if (k == 0) return x;
  if (4 * k == n) return minus_i_times(x);
  if (2 * k == n) return {-x.re, -x.im};
  if (4 * k == 3 * n) return {-x.im, x.re};
  return x * roots.at[k];
}

template <int r>
DANAUS_DEVICE void dft(Complex (&x)[r]) {
  if constexpr (r == 2) {
    const Complex first = x[0];
    x[0] = first + x[1];
    x[1] = first - x[1];
  } else if constexpr (r == 3) {
    constexpr float kSine = 0.866025403784438647f;  // of 2 pi / 3
    const Complex sum = x[1] + x[2], middle = times_add(-0.5f, sum, x[0]);
    const Complex side = kSine * minus_i_times(x[1] - x[2]);
    x[0] = x[0] + sum;
    x[1] = middle + side;
    x[2] = middle - side;
  } else if constexpr (r == 4) {
    const Complex a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = minus_i_times(x[1] - x[3]);
    x[0] = a + c;
    x[1] = b + d;
    x[2] = a - c;
    x[3] = b - d;
  } else if constexpr (r == 5 || r == 7) {  // sums and differences of n and r - n
    constexpr Roots<r> roots = kRoots<r>;
    constexpr int kPairs = (r - 1) / 2;
    Complex sum[kPairs + 1], side[kPairs + 1];
    DANAUS_UNROLL
    for (int n = 1; n <= kPairs; ++n) sum[n] = x[n] + x[r - n], side[n] = minus_i_times(x[n] - x[r - n]);
    const Complex first = x[0];
    DANAUS_UNROLL
    for (int n = 1; n <= kPairs; ++n) x[0] = x[0] + sum[n];
    DANAUS_UNROLL
    for (int k = 1; k <= kPairs; ++k) {
      Complex even = first, odd = {0, 0};
      DANAUS_UNROLL
      for (int n = 1; n <= kPairs; ++n) {
        even = times_add(roots.at[k * n % r].re, sum[n], even);
        odd = times_add(-roots.at[k * n % r].im, side[n], odd);
      }
      x[k] = even + odd, x[r - k] = even - odd;
    }
  } else if constexpr (r > 1) {  // n = b n1 + n2, k = k1 + a k2
    constexpr int a = r % 4 == 0 ? 4 : r % 3 == 0 ? 3 : 2, b = r / a;
    Complex rows[a][b];
    DANAUS_UNROLL
    for (int n2 = 0; n2 < b; ++n2) {
      Complex column[a];
      DANAUS_UNROLL
      for (int n1 = 0; n1 < a; ++n1) column[n1] = x[b * n1 + n2];
      dft(column);
      DANAUS_UNROLL
      for (int k1 = 0; k1 < a; ++k1) rows[k1][n2] = times_root<r>(column[k1], n2 * k1);
    }
    DANAUS_UNROLL
    for (int k1 = 0; k1 < a; ++k1) {
      dft(rows[k1]);
      DANAUS_UNROLL
      for (int k2 = 0; k2 < b; ++k2) x[k1 + a * k2] = rows[k1][k2];
    }
  }
}

// x[k] times w^k, out of w and w^4: so an error of w grows sixfold at most for r = 16.
template <int r>
DANAUS_DEVICE void times_powers(Complex (&x)[r], Complex w, Complex w4) {
  const Complex w2 = w * w, low[4] = {{1, 0}, w, w2, w2 * w};
  Complex high = w4;
  DANAUS_UNROLL
  for (int k = 0; k < r; ++k) {
    if (k % 4 == 0 && k > 4) high = high * w4;
    if (k < 4)
      x[k] = k == 0 ? x[k] : x[k] * low[k];
    else
      x[k] = x[k] * (k % 4 == 0 ? high : low[k % 4] * high);
  }
}

}  // namespace danaus::inline DANAUS_BACKEND::fp32
