// DFTs over a few tiles in registers, elementwise and unscaled: 1 to 8 points.
#pragma once

#include <bit>

#include "kernels/tile/sine.hpp"
#include "kernels/tile/tile.hpp"

namespace danaus::inline DANAUS_BACKEND {

// A number in both halves of a register as f16, rounded to nearest even; of the size of sines.
constexpr u32 constant(double value) {
  constexpr int kDigits = 10, kBias = 15;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  const std::uint64_t wide = std::uint64_t(exponent + kBias) << 52 | (bits & ((std::uint64_t{1} << 52) - 1));
  const std::uint64_t unit = std::uint64_t{1} << (52 - kDigits);
  const std::uint64_t rounded = (wide + unit / 2 - 1 + (wide / unit & 1)) / unit;
  return static_cast<u32>(bits >> 63 << 15 | rounded) * 0x10001u;
}

// Sines of angles in degrees.
struct Sine {
  static constexpr double kRoot2 = 1.41421356237309504880, kRoot3 = 1.73205080756887729353;
  static constexpr u32 k30 = constant(0.5), kMinus30 = constant(-0.5);
  static constexpr u32 k45 = constant(kRoot2 / 2), kMinus45 = constant(-kRoot2 / 2);
  static constexpr u32 k60 = constant(kRoot3 / 2), kMinus60 = constant(-kRoot3 / 2);
  static constexpr u32 k90 = constant(1), kMinus90 = constant(-1);
  static constexpr u32 k45Times60 = constant(kRoot2 / 2 * kRoot3 / 2);
};

// Of 5 and 7 points, whose DFTs are sums over the pairs n and r - n.
template <int radix>
inline constexpr bool kIsOddPrime = radix == 5 || radix == 7;

// Cosines and sines of k n turns / r, [k][n], and those of the right angle, n (1 - 4 k) turns / 4 r; 0, 1 and -1
// exactly.
template <int r>
struct OddRoots {
  static constexpr int kPairs = (r - 1) / 2;
  u32 cosine[r][kPairs + 1], sine[r][kPairs + 1], weighted_cosine[r][kPairs + 1], weighted_sine[r][kPairs + 1];
};
template <int r>
constexpr OddRoots<r> make_odd_roots() {
  OddRoots<r> roots{};
  const auto sine = [](int quarters) {  // of so many 4 r-ths of a turn
    quarters = (quarters % (4 * r) + 4 * r) % (4 * r);
    if (quarters % (2 * r) == 0) return u32{0};
    return constant(quarters == r ? 1 : quarters == 3 * r ? -1 : sine_of_turn(quarters, 4 * r));
  };
  for (int k = 0; k < r; ++k)
    for (int n = 1; n <= roots.kPairs; ++n) {
      roots.cosine[k][n] = sine(4 * k * n + r), roots.sine[k][n] = sine(4 * k * n);
      roots.weighted_cosine[k][n] = sine(n * (1 - 4 * k) + r), roots.weighted_sine[k][n] = sine(n * (1 - 4 * k));
    }
  return roots;
}
template <int r>
inline constexpr OddRoots<r> kOddRoots = make_odd_roots<r>();

// sum + x c, of which c is a constant of an unrolled loop.
DANAUS_DEVICE u32 add_times(u32 sum, u32 x, u32 c) {
  if (c == 0) return sum;
  if (c == Sine::k90) return device::add2(sum, x);
  if (c == Sine::kMinus90) return device::sub2(sum, x);
  return device::fma2(x, c, sum);
}

template <int r, bool inverse>
DANAUS_DEVICE void odd_dft(Complex2 (&x)[r]) {
  constexpr OddRoots<r> roots = kOddRoots<r>;
  constexpr int kPairs = roots.kPairs;
  Complex2 sum[kPairs + 1], difference[kPairs + 1];
  DANAUS_UNROLL
  for (int n = 1; n <= kPairs; ++n) sum[n] = add(x[n], x[r - n]), difference[n] = subtract(x[n], x[r - n]);
  const Complex2 first = x[0];
  DANAUS_UNROLL
  for (int n = 1; n <= kPairs; ++n) x[0] = add(x[0], sum[n]);
  DANAUS_UNROLL
  for (int k = 1; k <= kPairs; ++k) {
    Complex2 m = first;
    Complex2 s = {device::mul2(difference[1].re, roots.sine[k][1]), device::mul2(difference[1].im, roots.sine[k][1])};
    DANAUS_UNROLL
    for (int n = 1; n <= kPairs; ++n) {
      m = {add_times(m.re, sum[n].re, roots.cosine[k][n]), add_times(m.im, sum[n].im, roots.cosine[k][n])};
      if (n > 1)
        s = {add_times(s.re, difference[n].re, roots.sine[k][n]), add_times(s.im, difference[n].im, roots.sine[k][n])};
    }
    const Complex2 low = {device::add2(m.re, s.im), device::sub2(m.im, s.re)};  // m - i s
    const Complex2 high = {device::sub2(m.re, s.im), device::add2(m.im, s.re)};
    x[k] = inverse ? high : low;
    x[r - k] = inverse ? low : high;
  }
}

// As weighted_dft and weighted_dft_back below have it: the root of r - n is i times the conjugate of that of n.
template <int r>
DANAUS_DEVICE void odd_weighted_dft(const u32 (&x)[r], Complex2 (&y)[r]) {
  constexpr OddRoots<r> roots = kOddRoots<r>;
  DANAUS_UNROLL
  for (int k = 0; k < r; ++k) {
    y[k] = {x[0], 0};
    DANAUS_UNROLL
    for (int n = 1; n <= roots.kPairs; ++n) {
      const u32 c = roots.weighted_cosine[k][n], s = roots.weighted_sine[k][n];
      y[k] = {add_times(add_times(y[k].re, x[n], c), x[r - n], s), add_times(add_times(y[k].im, x[r - n], c), x[n], s)};
    }
  }
}
template <int r>
DANAUS_DEVICE void odd_weighted_dft_back(const Complex2 (&y)[r], u32 (&x)[r]) {
  constexpr OddRoots<r> roots = kOddRoots<r>;
  DANAUS_UNROLL
  for (int n = 0; n < r; ++n) x[n] = n == 0 ? y[0].re : 0;
  DANAUS_UNROLL
  for (int k = 0; k < r; ++k) {
    if (k > 0) x[0] = device::add2(x[0], y[k].re);
    DANAUS_UNROLL
    for (int n = 1; n <= roots.kPairs; ++n) {
      const u32 c = roots.weighted_cosine[k][n], s = roots.weighted_sine[k][n];
      x[n] = add_times(add_times(x[n], y[k].re, c), y[k].im, s);
      x[r - n] = add_times(add_times(x[r - n], y[k].im, c), y[k].re, s);
    }
  }
}

template <int radix, bool inverse>
DANAUS_DEVICE void radix_dft(Complex2 (&x)[radix]) {
  const auto minus_i = [](Complex2 z) -> Complex2 {  // times -i, or i for the inverse
    return inverse ? Complex2{device::negate2(z.im), z.re} : Complex2{z.im, device::negate2(z.re)};
  };
  if constexpr (radix == 2) {
    const Complex2 a = x[0];
    x[0] = add(a, x[1]);
    x[1] = subtract(a, x[1]);
  } else if constexpr (radix == 3) {
    const Complex2 sum = add(x[1], x[2]);
    const Complex2 difference = subtract(x[1], x[2]);
    const Complex2 middle = {device::fma2(sum.re, Sine::kMinus30, x[0].re),
                             device::fma2(sum.im, Sine::kMinus30, x[0].im)};
    x[0] = add(x[0], sum);
    // middle -+ i sqrt(3)/2 difference
    const Complex2 plus = {device::fma2(difference.im, Sine::k60, middle.re),
                           device::fma2(difference.re, Sine::kMinus60, middle.im)};
    const Complex2 minus = {device::fma2(difference.im, Sine::kMinus60, middle.re),
                            device::fma2(difference.re, Sine::k60, middle.im)};
    x[1] = inverse ? minus : plus;
    x[2] = inverse ? plus : minus;
  } else if constexpr (radix == 4) {
    const Complex2 a = add(x[0], x[2]), b = subtract(x[0], x[2]);
    const Complex2 c = add(x[1], x[3]), d = subtract(x[1], x[3]);
    x[0] = add(a, c);
    x[2] = subtract(a, c);
    // b -+ i d, without forming i d
    const Complex2 low = {device::add2(b.re, d.im), device::sub2(b.im, d.re)};
    const Complex2 high = {device::sub2(b.re, d.im), device::add2(b.im, d.re)};
    x[1] = inverse ? high : low;
    x[3] = inverse ? low : high;
  } else if constexpr (kIsOddPrime<radix>) {
    odd_dft<radix, inverse>(x);
  } else if constexpr (radix == 6) {  // Good-Thomas: 2 x 3 without twiddles; n = 3 n2 + 2 n3, k = 3 k2 + 4 k3 (mod 6)
    Complex2 even[3] = {x[0], x[2], x[4]}, odd[3] = {x[3], x[5], x[1]};
    radix_dft<3, inverse>(even);
    radix_dft<3, inverse>(odd);
    DANAUS_UNROLL
    for (int k3 = 0; k3 < 3; ++k3) {
      x[(4 * k3) % 6] = add(even[k3], odd[k3]);
      x[(3 + 4 * k3) % 6] = subtract(even[k3], odd[k3]);
    }
  } else if constexpr (radix == 8) {
    // 2 x 4: k = k2 + 2 k4.
    Complex2 even[4], odd[4];
    DANAUS_UNROLL
    for (int n = 0; n < 4; ++n) {
      even[n] = add(x[n], x[n + 4]);
      odd[n] = subtract(x[n], x[n + 4]);
    }
    // odd[n] times exp(-+ 2 pi i n / 8): (1 -+ i)/sqrt(2), -+ i, (-1 -+ i)/sqrt(2)
    const Complex2 one = odd[1], three = odd[3];
    const Complex2 one_i = minus_i(one), three_i = minus_i(three);
    odd[1] = {device::mul2(device::add2(one.re, one_i.re), Sine::k45),
              device::mul2(device::add2(one.im, one_i.im), Sine::k45)};
    odd[2] = minus_i(odd[2]);
    odd[3] = {device::mul2(device::sub2(three_i.re, three.re), Sine::k45),
              device::mul2(device::sub2(three_i.im, three.im), Sine::k45)};
    radix_dft<4, inverse>(even);
    radix_dft<4, inverse>(odd);
    DANAUS_UNROLL
    for (int k = 0; k < 4; ++k) {
      x[2 * k] = even[k];
      x[2 * k + 1] = odd[k];
    }
  } else {
    static_assert(radix == 1, "radix_dft: 1 to 8");
  }
}

// exp(i pi n / 2r) for n = 0 ... r - 1, where r divides 8.
template <int radix>
struct Weights {
  Complex2 at[radix];
};
template <int radix>
constexpr Weights<radix> make_weights() {
  // cos(pi j / 16); backwards, the sines.
  constexpr double kCosines[9] = {1,
                                  0.98078528040323044913,
                                  0.92387953251128675613,
                                  0.83146961230254523708,
                                  0.70710678118654752440,
                                  0.55557023301960222474,
                                  0.38268343236508977173,
                                  0.19509032201612826785,
                                  0};
  static_assert(8 % radix == 0);
  Weights<radix> w{};
  for (int n = 0; n < radix; ++n)
    w.at[n] = {constant(kCosines[8 * n / radix]), n == 0 ? 0 : constant(kCosines[8 - 8 * n / radix])};
  return w;
}
template <int radix>
inline constexpr Weights<radix> kWeights = make_weights<radix>();

// Where the right angle weights blocks of real samples before a DFT over them, weights and DFT are one small matrix,
// with less work than both: y_k = sum_n x_n exp(i pi n / 2r) exp(-2 pi i n k / r).
template <int radix>
DANAUS_DEVICE void weighted_dft(const u32 (&x)[radix], Complex2 (&y)[radix]) {
  if constexpr (radix == 1) {
    y[0] = {x[0], 0};
  } else if constexpr (radix == 2) {
    const u32 turned = device::mul2(x[1], Sine::k45);
    y[0] = {device::add2(x[0], turned), turned};
    y[1] = {device::sub2(x[0], turned), device::negate2(turned)};
  } else if constexpr (radix == 3) {
    const u32 re = device::fma2(x[2], Sine::k30, x[0]), im = device::mul2(x[1], Sine::k30);
    y[0] = {device::fma2(x[1], Sine::k60, re), device::fma2(x[2], Sine::k60, im)};
    y[1] = {device::sub2(x[0], x[2]), device::negate2(x[1])};
    y[2] = {device::fma2(x[1], Sine::kMinus60, re), device::fma2(x[2], Sine::kMinus60, im)};
  } else if constexpr (kIsOddPrime<radix>) {
    odd_weighted_dft<radix>(x, y);
  } else if constexpr (radix == 6) {
    // Good-Thomas, as in radix_dft. x[1] is n = 7, whose weight is i times that of 1.
    Complex2 even[3];
    weighted_dft<3>({x[0], x[2], x[4]}, even);
    const u32 sum = device::add2(x[5], x[1]), difference = device::sub2(x[5], x[1]);
    const u32 im = device::mul2(difference, Sine::k30);
    const Complex2 odd[3] = {{device::fma2(sum, Sine::k60, x[3]), im},
                             {x[3], device::negate2(difference)},
                             {device::fma2(sum, Sine::kMinus60, x[3]), im}};
    DANAUS_UNROLL
    for (int k3 = 0; k3 < 3; ++k3) {  // odd ones times (1 + i) / sqrt(2)
      const Complex2 e = even[k3], o = odd[k3];
      const u32 re_turned = device::sub2(o.re, o.im), im_turned = device::add2(o.re, o.im);
      y[4 * k3 % 6] = {device::fma2(re_turned, Sine::k45, e.re), device::fma2(im_turned, Sine::k45, e.im)};
      y[(3 + 4 * k3) % 6] = {device::fma2(re_turned, Sine::kMinus45, e.re),
                             device::fma2(im_turned, Sine::kMinus45, e.im)};
    }
  } else {
    constexpr Weights<radix> a = kWeights<radix>;
    y[0] = {x[0], 0};
    DANAUS_UNROLL
    for (int n = 1; n < radix; ++n) y[n] = {device::mul2(x[n], a.at[n].re), device::mul2(x[n], a.at[n].im)};
    radix_dft<radix, false>(y);
  }
}

// The real part of the inverse, x_n = Re(exp(-i pi n / 2r) sum_k y_k exp(2 pi i n k / r)): the same matrix, transposed.
template <int radix>
DANAUS_DEVICE void weighted_dft_back(const Complex2 (&y)[radix], u32 (&x)[radix]) {
  if constexpr (radix == 1) {
    x[0] = y[0].re;
  } else if constexpr (radix == 2) {
    const Complex2 difference = subtract(y[0], y[1]);
    x[0] = device::add2(y[0].re, y[1].re);
    x[1] = device::mul2(device::add2(difference.re, difference.im), Sine::k45);
  } else if constexpr (radix == 3) {
    const Complex2 sum = add(y[0], y[2]), difference = subtract(y[0], y[2]);
    x[0] = device::add2(sum.re, y[1].re);
    x[1] = device::fma2(difference.re, Sine::k60, device::fms2(sum.im, Sine::k30, y[1].im));
    x[2] = device::fma2(difference.im, Sine::k60, device::fms2(sum.re, Sine::k30, y[1].re));
  } else if constexpr (kIsOddPrime<radix>) {
    odd_weighted_dft_back<radix>(y, x);
  } else if constexpr (radix == 6) {
    Complex2 even[3], odd[3];  // odd ones without their sqrt(1/2)
    DANAUS_UNROLL
    for (int k3 = 0; k3 < 3; ++k3) {
      const Complex2 p = y[4 * k3 % 6], q = y[(3 + 4 * k3) % 6], difference = subtract(p, q);
      even[k3] = add(p, q);
      odd[k3] = {device::add2(difference.re, difference.im), device::sub2(difference.im, difference.re)};
    }
    u32 of_even[3];
    weighted_dft_back<3>(even, of_even);
    x[0] = of_even[0], x[2] = of_even[1], x[4] = of_even[2];
    const u32 sum = device::mul2(device::sub2(odd[0].re, odd[2].re), Sine::k45Times60);
    const u32 difference = device::fms2(device::add2(odd[0].im, odd[2].im), Sine::k30, odd[1].im);
    x[3] = device::mul2(device::add2(device::add2(odd[0].re, odd[2].re), odd[1].re), Sine::k45);
    x[5] = device::fma2(difference, Sine::k45, sum);
    x[1] = device::fma2(difference, Sine::kMinus45, sum);
  } else {
    constexpr Weights<radix> a = kWeights<radix>;
    Complex2 z[radix];
    DANAUS_UNROLL
    for (int k = 0; k < radix; ++k) z[k] = y[k];
    radix_dft<radix, true>(z);
    x[0] = z[0].re;
    DANAUS_UNROLL
    for (int n = 1; n < radix; ++n) x[n] = times<true>(z[n], a.at[n]).re;
  }
}

// The radix that a transform begins with: of complex samples, or of real ones that the right angle weights.
template <bool pair, int radix>
DANAUS_DEVICE void samples_to_radix(const u32 (&re)[radix], const u32 (&im)[radix], Complex2 (&x)[radix]) {
  if constexpr (pair) {
    DANAUS_UNROLL
    for (int n = 0; n < radix; ++n) x[n] = {re[n], im[n]};
    radix_dft<radix, false>(x);
  } else {
    weighted_dft<radix>(re, x);
  }
}

// The inverse; of the right angle the real part alone.
template <bool pair, int radix>
DANAUS_DEVICE void radix_to_samples(Complex2 (&x)[radix], u32 (&re)[radix], u32 (&im)[radix]) {
  if constexpr (pair) {
    radix_dft<radix, true>(x);
    DANAUS_UNROLL
    for (int n = 0; n < radix; ++n) re[n] = x[n].re, im[n] = x[n].im;
  } else {
    weighted_dft_back<radix>(x, re);
  }
}

// Of the right angle, what an imaginary part of the first of the samples adds, and that part of the inverse: sample 0
// has weight 1 everywhere.
template <int radix>
DANAUS_DEVICE void add_imaginary_first(u32 first, Complex2 (&x)[radix]) {
  DANAUS_UNROLL
  for (int k = 0; k < radix; ++k) x[k].im = device::add2(x[k].im, first);
}
template <int radix>
DANAUS_DEVICE u32 imaginary_first(const Complex2 (&x)[radix]) {
  u32 sum = x[0].im;
  DANAUS_UNROLL
  for (int k = 1; k < radix; ++k) sum = device::add2(sum, x[k].im);
  return sum;
}

}  // namespace danaus::inline DANAUS_BACKEND
