// spectrum: a filter's transform, in fp32, into the order in which a fused kernel reads it.
//
// source     decimation in frequency (Gentleman and Sande 1966), in place, radices 4, 3 and 2
// index      frequency k = q + R m of N = R M points is frequency m of the M points
//            x_q[n] = sum_j z[n + j M] exp(-2 pi i (n + j M) q / N);  z[n] = the filter's taps at n modulo L, for the
//            right angle times exp(i pi n / 2N)
// shapes     k [H, K], any K: causal filters are cut at L, circular ones wrap modulo L; spectrum [H, N] as
//            the convolution's spectrum_slots() order it
// types      k fp32, arithmetic fp32, spectrum f16 or bf16
// scaling    the table's, at the end
// resources  one block for each channel and each q; M <= 4096 complex points of shared memory, 32 KB
// error      relative L2 at most 1e-6 before the rounding to T
// reference  reference/dft.hpp   test   tests/kernels/spectrum_test.cpp
#pragma once

#include <cstring>

#include "kernels/device/operations.hpp"
#include "kernels/families/spectrum/layout.hpp"
#include "kernels/memory/arguments.hpp"

namespace danaus::spectrum::inline DANAUS_BACKEND {

template <Key key, Tuning tuning>
struct Shape {
  static constexpr Dtype dtype = key.dtype;
  static constexpr int threads = tuning.threads;
};

struct Complex {
  float re, im;
};

DANAUS_DEVICE Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
DANAUS_DEVICE Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
DANAUS_DEVICE Complex operator*(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
DANAUS_DEVICE Complex minus_i_times(Complex a) { return {a.im, -a.re}; }

DANAUS_DEVICE u32 word_of(float value) {
  u32 word;
  memcpy(&word, &value, 4);
  return word;
}
DANAUS_DEVICE float float_of(u32 word) {
  float value;
  memcpy(&value, &word, 4);
  return value;
}

DANAUS_DEVICE Complex load_point(int point) {
  const Words<2> w = device::load_shared<8>(kPointBytes * point);
  return {float_of(w[0]), float_of(w[1])};
}
DANAUS_DEVICE void store_point(int point, Complex value) {
  device::store_shared<8>(kPointBytes * point, {word_of(value.re), word_of(value.im)});
}

// exp(i pi numerator / denominator) for |numerator| <= denominator.
DANAUS_DEVICE Complex turn(int numerator, int denominator) {
  Complex result;
  device::sincos_pi(static_cast<float>(numerator) / static_cast<float>(denominator), result.im, result.re);
  return result;
}

DANAUS_DEVICE void dft(Complex (&x)[2]) {
  const Complex first = x[0];
  x[0] = first + x[1];
  x[1] = first - x[1];
  device::count_fp32(4);
}
DANAUS_DEVICE void dft(Complex (&x)[3]) {
  constexpr float kSine = 0.866025403784438647f;  // of 2 pi / 3
  const Complex sum = x[1] + x[2], difference = minus_i_times(x[1] - x[2]);
  const Complex middle = {x[0].re - 0.5f * sum.re, x[0].im - 0.5f * sum.im};
  const Complex side = {kSine * difference.re, kSine * difference.im};
  x[0] = x[0] + sum;
  x[1] = middle + side;
  x[2] = middle - side;
  device::count_fp32(16);
}
DANAUS_DEVICE void dft(Complex (&x)[4]) {
  const Complex a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = minus_i_times(x[1] - x[3]);
  x[0] = a + c;
  x[1] = b + d;
  x[2] = a - c;
  x[3] = b - d;
  device::count_fp32(16);
}

template <class P, int radix>
DANAUS_DEVICE void stage(int points, int span) {
  const int step = span / radix;
  for (int i = device::thread_index(); i < points / radix; i += P::threads) {
    const int n = i % step, first = i / step * span + n;
    Complex x[radix];
    DANAUS_UNROLL
    for (int d = 0; d < radix; ++d) x[d] = load_point(first + d * step);
    dft(x);
    store_point(first, x[0]);
    DANAUS_UNROLL
    for (int d = 1; d < radix; ++d) {
      const int angle = n * d;  // of span
      store_point(first + d * step, x[d] * turn(2 * (angle > span / 2 ? span - angle : -angle), span));
      device::count_fp32(6);
    }
  }
}

// x_q into shared memory and its transform there, frequency m at place(m, M).
template <class P>
DANAUS_DEVICE void transform_part(const Arguments& a, int channel, int q) {
  const int points = a.size / a.parts;
  const float* k = a.k + static_cast<long long>(channel) * a.filter_length;
  const int taps = min(a.filter_length, a.period);
  for (int n = device::thread_index(); n < points; n += P::threads) {
    Complex sum = {0, 0};
    for (int m = n; m < taps; m += points) {
      float tap = float_of(device::load_global<4>(k + m)[0]);
      if (a.wraps)
        for (long long at = static_cast<long long>(m) + a.period; at < a.filter_length; at += a.period) {
          tap += float_of(device::load_global<4>(k + at)[0]);
          device::count_fp32(1);
        }
      const int turns = (4 * q * m - (a.right_angle ? m : 0)) % (4 * a.size);  // in units of -pi / 2N
      const Complex by = turn(turns > 2 * a.size ? 4 * a.size - turns : -turns, 2 * a.size);
      sum = {sum.re + tap * by.re, sum.im + tap * by.im};
      device::count_fp32(4);
    }
    store_point(n, sum);
  }
  for (int span = points; span > 1; span /= stage_radix(span)) {
    device::sync_block();
    switch (stage_radix(span)) {
      case 2: stage<P, 2>(points, span); break;
      case 3: stage<P, 3>(points, span); break;
      default: stage<P, 4>(points, span);
    }
  }
  device::sync_block();
}

template <class P, Path path>
DANAUS_DEVICE void run(const Arguments& a) {
  device::wait_for_previous_grid();
  const int channel = device::block_index() / a.parts, q = device::block_index() % a.parts;
  transform_part<P>(a, channel, q);
  const int pairs = a.size / a.parts / 2;
  for (int i = device::thread_index(); i < pairs; i += P::threads) {
    const Words<4> entry = device::load_constant<16>(a.table + kEntryWords * (q * pairs + i));
    const Complex first = load_point(entry[1] & 0xffff), second = load_point(entry[1] >> 16);
    const float scale[2] = {float_of(entry[2]), float_of(entry[3])};
    device::count_fp32(4);
    device::store_global<8>(a.spectrum + static_cast<long long>(channel) * a.size + 2 * entry[0],
                            {device::pack2<P::dtype>(scale[0] * first.re, scale[1] * second.re),
                             device::pack2<P::dtype>(scale[0] * first.im, scale[1] * second.im)});
  }
}

}  // namespace danaus::spectrum::inline DANAUS_BACKEND
