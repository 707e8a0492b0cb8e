// Streams with NaN or infinity are convolved once more, here, so that such a sample shows in the outputs of its taps
// alone. A product of blocks multiplies it by zeros too, and 0 x NaN = NaN.
//
// found by   two sums of each block, which Stream tests
// sums       three products for each of before. The first has the finite samples, in the same order: outputs out of
// reach
//            keep their bits. The second counts other samples that a tap reaches. The third adds signs of infinity
//            times tap
// result     the first sum where the count is 0. Infinity where all signs are alike. Else NaN
// memory     u and its gate are read again, two bytes an access. y takes its place in the stream
#pragma once

#include "kernels/families/toeplitz/layout.hpp"
#include "kernels/memory/stream.hpp"
#include "kernels/tile/bits.hpp"

namespace danaus::toeplitz::inline DANAUS_BACKEND {

// Samples `first` to `last` - 1 of a channel of u, the others zero.
struct Samples {
  const void* u;
  const void* gate;  // or null
  long long begin;   // of sample 0
  int stride, first, last;

  template <Dtype T>
  DANAUS_DEVICE u32 at(int n) const {
    if (n < first || n >= last) return 0;
    const long long i = begin + static_cast<long long>(n) * stride;
    const u32 sample = device::load_global<2>(static_cast<const std::uint16_t*>(u) + i)[0];
    if (!gate) return sample;
    return device::mul2<T>(sample, device::load_global<2>(static_cast<const std::uint16_t*>(gate) + i)[0]) & 0xffffu;
  }
};

// Two halves as operands of the three products.
struct Split {
  u32 finite = 0, marks = 0, signs = 0;
};

template <Dtype T>
struct Halves {
  static constexpr u32 kInfinity = T == Dtype::f16 ? 0x7c00u : 0x7f80u, kOne = T == Dtype::f16 ? 0x3c00u : 0x3f80u;
  static DANAUS_DEVICE u32 sign_of(u32 half) { return (half & 0x8000u) | kOne; }

  static DANAUS_DEVICE Split of_samples(u32 low, u32 high) {
    Split split;
    DANAUS_UNROLL
    for (int e = 0; e < 2; ++e) {
      const u32 half = e == 0 ? low : high;
      if ((half & kInfinity) != kInfinity) {
        split.finite |= half << (16 * e);
        continue;
      }
      split.marks |= kOne << (16 * e);
      if ((half & 0x7fffu) == kInfinity) split.signs |= sign_of(half) << (16 * e);
    }
    return split;
  }
  // Of taps `tap` and `tap` - 1. Beyond the filter's `taps` there are no marks; zeros have no sign.
  static DANAUS_DEVICE Split of_taps(u32 word, int tap, int taps) {
    Split split{word};
    DANAUS_UNROLL
    for (int e = 0; e < 2; ++e) {
      if (tap - e < 0 || tap - e >= taps) continue;
      const u32 half = word >> (16 * e) & 0xffffu;
      split.marks |= kOne << (16 * e);
      if ((half & 0x7fffu) != 0) split.signs |= sign_of(half) << (16 * e);
    }
    return split;
  }
};

// Sums of one tile of y.
template <Dtype T>
struct SplitSums {
  float finite[4], marks[4] = {}, signs[4] = {};

  DANAUS_DEVICE explicit SplitSums(float bias) { finite[0] = finite[1] = finite[2] = finite[3] = bias; }
  DANAUS_DEVICE void add(const Split (&u)[4], const Split (&taps)[2]) {
    const auto add = [&](float(&sums)[4], u32 Split::*part) {
      const u32 a[4] = {u[0].*part, u[1].*part, u[2].*part, u[3].*part}, b[2] = {taps[0].*part, taps[1].*part};
      device::mma_f32acc<T>(sums, a, b);
    };
    add(finite, &Split::finite), add(marks, &Split::marks), add(signs, &Split::signs);
  }
  DANAUS_DEVICE float operator[](int i) const {
    if (marks[i] == 0) return finite[i];
    const bool alike = signs[i] == marks[i] || signs[i] == -marks[i];
    return finite[i] + float_of(alike ? 0x7f800000u | (signs[i] < 0 ? 0x80000000u : 0u) : 0x7fffffffu);
  }
};

// Of a channel's filter: words of each parity, and pairs of tiles.
template <class P>
inline constexpr int kWords = pairs_of(P::layout.key.blocks);
template <class P>
inline constexpr int kPairs = 4 * P::layout.key.blocks - 2;

// The outputs of a stream whose first belongs to sample `n` of `samples`, once more. A warp's.
template <class P>
DANAUS_DEVICE void convolve_nonfinite(const Arguments& a, const Samples& samples, int channel, int n,
                                      const StreamLayout& layout, SharedAddress begin, int turn) {
  constexpr Dtype T = P::layout.key.dtype;
  constexpr int kBlocks = P::layout.key.blocks;
  const int lane = device::lane_index(), g = lane / 4, t = lane % 4;
  const std::uint32_t* const words = a.filters + (2ll * channel + g % 2) * kWords<P> + 16 + g / 2 - t;
  const float bias = a.bias ? float_of(device::load_global<4>(a.bias + channel)[0]) : 0;
  device::sync_warp();  // what the lanes stored there
  // Half a block of y at a time: with more sums the kernel would spill.
  DANAUS_UNROLL_BY(1)
  for (int half_block = 0; half_block < 2 << layout.shift; ++half_block) {
    const int block = half_block / 2, first = 2 * (half_block % 2);
    SplitSums<T> y[2] = {SplitSums<T>(bias), SplitSums<T>(bias)};
    DANAUS_UNROLL_BY(1)
    for (int step = 0; step < 2 * kBlocks; ++step) {
      const int c = step % 2, before = P::layout.tuning.lines ? kBlocks - 1 - step / 2 : step / 2;
      Split u[4];
      DANAUS_UNROLL
      for (int i = 0; i < 4; ++i) {
        const int line = g + 8 * (i % 2);
        const int at = n + kStreamBlock * ((line << layout.shift) + block - before) + 16 * c + 8 * (i / 2) + 2 * t;
        u[i] = Halves<T>::of_samples(samples.at<T>(at), samples.at<T>(at + 1));
      }
      DANAUS_UNROLL
      for (int q = 0; q < 2; ++q) {
        const int apart = 4 * before + first + q - 2 * c;
        if (apart < 0 || apart >= kPairs<P>) continue;
        Split taps[2];
        DANAUS_UNROLL
        for (int f = 0; f < 2; ++f) {
          const int away = 4 * (apart - f);
          const u32 word = device::load_global<4>(words + away)[0];
          taps[f] = Halves<T>::of_taps(word, 2 * (away + g / 2 - t) + g % 2 - a.delay, a.count);
        }
        y[q].add(u, taps);
      }
    }
    DANAUS_UNROLL
    for (int q = 0; q < 2; ++q) DANAUS_UNROLL
    for (int half = 0; half < 2; ++half)
      device::store_shared<4>(begin + (layout.place(g + 8 * half, block, first + q) ^ turn) + 4 * t,
                              {device::pack2<T>(y[q][2 * half], y[q][2 * half + 1])});
  }
}

}  // namespace danaus::toeplitz::inline DANAUS_BACKEND
