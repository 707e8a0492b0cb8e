// spectrum: a filter's transform, in fp32, into the order in which a fused kernel reads it.
//
// source     decimation in frequency (Gentleman and Sande 1966) in up to four stages, in place
// index      pair fold: N = 2 M, z[n] = k[2 n] + i k[2 n + 1], whose transform Z gives
//              K[f] = (Z[f] + conj Z[M - f]) / 2 - i/2 exp(-2 pi i f / N) (Z[f] - conj Z[M - f]),  f <= M
//            right angle: N = R M, frequency f = q + R m is frequency m of the M points
//              x_q[n] = sum_p z[n + p M] exp(-2 pi i (n + p M) (4 q - 1) / 4 N)
//            points and frequencies in digits: layout.hpp
// shapes     k [H, K], any K: causal filters are cut at L, circular ones wrap modulo L; spectrum [H, N] as
//            the convolution's spectrum_slots() order it
//            circular by the right angle: the taps once more L samples before, where a^N = i makes them
//            z[n] -= i k[n - (N - L)]. Then the real part of lo + i hi is the circular convolution
// types      k fp32, f16 or bf16; arithmetic fp32; spectrum f16
// scaling    by an argument, at the end; marks of frequencies, of the pair fold alone, there too. For bf16 samples,
//            whose filter may be of any size, each channel's also by a power of two near the sum of its taps'
//            magnitudes, which no frequency exceeds: the factor by which the convolution multiplies again
// memory     a transform's points in shared memory; at the end the first word of each is a pair of 16 bits, which are
//            gathered in the order of the spectrum. Code is loops over few butterflies: what runs once waits for it
// error      relative L2 at most 1e-6 before the rounding to f16
// reference  reference/dft.hpp   test   tests/kernels/spectrum_test.cpp
#pragma once

#include <cmath>
#include <cstring>

#include "kernels/families/spectrum/layout.hpp"
#include "kernels/memory/arguments.hpp"
#include "kernels/tile/fp32.hpp"
#include "kernels/tile/scaled.hpp"

namespace danaus::spectrum::inline DANAUS_BACKEND {

using fp32::Complex;
using scaled::power_of_two;

template <Key key, Tuning tuning>
struct Shape {
  static constexpr Layout layout{key, tuning};
  static_assert(!layout.broken_rule(), "tunings.hpp has a line that Layout::broken_rule() refuses");
};

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

// One transform, by the threads that share it. All threads of the block call the same functions.
template <class P>
class Transform {
 public:
  static constexpr Layout layout = P::layout;

  DANAUS_DEVICE explicit Transform(const Arguments& a)
      : a_(a),
        thread_(device::thread_index() % layout.tuning.threads),
        begin_(device::thread_index() / layout.tuning.threads * layout.transform_bytes) {
    const int number =
        device::block_index() * layout.tuning.transforms + device::thread_index() / layout.tuning.threads;
    channel_ = number / a.parts, part_ = number % a.parts;
  }

  DANAUS_DEVICE int channel() const { return channel_; }
  DANAUS_DEVICE int part() const { return part_; }
  // What frequencies are multiplied by, where the spectrum is told apart from a factor of its channel's.
  DANAUS_DEVICE float scale() const { return scale_; }

  // From taps to frequencies: calls keep(f, x, place), where the place is then the caller's. Of the right angle f is of
  // the M points.
  template <class Keep>
  DANAUS_DEVICE void run(Keep keep) {
    float sum;
    switch (a_.k_dtype) {
      case Dtype::f16: sum = fill<Dtype::f16>(); break;
      case Dtype::bf16: sum = fill<Dtype::bf16>(); break;
      default: sum = fill<Dtype::f32>();
    }
    if (a_.factors) {
      const int exponent = exponent_of_sum(sum);
      scale_ = power_of_two(254 - exponent);
      if (thread_ == 0 && part_ == 0 && channel_ < a_.channels)
        device::store_global<4>(a_.factors + channel_, {word_of(power_of_two(exponent))});
    } else {
      device::sync_block();
    }
    constexpr Tuning t = layout.tuning;
    stage<t.radix0, layout.points>(keep);
    stage<t.radix1, layout.step0, t.radix2 == 1>(keep);
    stage<t.radix2, layout.step1, t.radix3 == 1>(keep);
    stage<t.radix3, layout.step2, true>(keep);
    if (!a_.right_angle) part_real(keep);
  }

  // The part of the spectrum, from the first words of the places: two pairs of slots at a time.
  DANAUS_DEVICE void gather() const {
    const int entries = a_.size / a_.parts / 4, first = part_ * entries;
    u32* spectrum = a_.spectrum + static_cast<long long>(channel_) * a_.size;
    const auto value = [&](u32 place, u32 sign) {
      return device::load_shared<4>(begin_ + 8 * (place & (kMirrored - 1)))[0] ^ (sign & 0x80000000u);
    };
    DANAUS_UNROLL_BY(2)
    for (int i = thread_; i < entries; i += layout.tuning.threads) {
      const Words<2> entry = device::load_constant<8>(a_.entries + 2 * (first + i));
      const u32 at = a_.numbers ? device::load_constant<4>(a_.numbers + first + i)[0] : i;
      Words<4> words;
      DANAUS_UNROLL
      for (int pair = 0; pair < 2; ++pair) {
        const u32 even = value(entry[pair], entry[pair] << 16), odd = value(entry[pair] >> 16, entry[pair]);
        words[2 * pair] = device::permute_bytes(even, odd, 0x5410);
        words[2 * pair + 1] = device::permute_bytes(even, odd, 0x7632);
      }
      device::store_global<16>(spectrum + 4 * at, words);
    }
  }

 private:
  DANAUS_DEVICE SharedAddress address(int p) const { return begin_ + 8 * place_of(p, layout.step0); }
  static DANAUS_DEVICE Complex complex_of(Words<2> w) { return {float_of(w[0]), float_of(w[1])}; }
  static DANAUS_DEVICE Complex load(SharedAddress at) { return complex_of(device::load_shared<8>(at)); }
  static DANAUS_DEVICE void store(SharedAddress at, Complex x) {
    device::store_shared<8>(at, {word_of(x.re), word_of(x.im)});
  }
  // Digit by digit: those of steps that are multiples of 16 points move a place by as much each.
  DANAUS_DEVICE SharedAddress place_of_frequency(int f) const {
    constexpr Tuning t = layout.tuning;
    constexpr int kAfter1 = t.radix0 * t.radix1, kAfter2 = kAfter1 * t.radix2;
    const int digit0 = f % t.radix0, digit1 = f / t.radix0 % t.radix1;
    const int low = f / kAfter1 % t.radix2 * layout.step2 + f / kAfter2;
    if constexpr (layout.step1 % 16 == 0)
      return begin_ + 8 * (digit0 * place_of(layout.step0, layout.step0) +
                           digit1 * place_of(layout.step1, layout.step0) + place_of(low, layout.step0));
    else
      return address(digit0 * layout.step0 + digit1 * layout.step1 + low);
  }

  // Tap n of the channel.
  template <Dtype T>
  DANAUS_DEVICE float load_tap(long long n) const {
    const long long at = channel_ * a_.filter_length + n;
    if constexpr (T == Dtype::f32)
      return float_of(device::load_global<4>(static_cast<const float*>(a_.k) + at)[0]);
    else
      return device::lower_float<T>(device::load_global<2>(static_cast<const std::uint16_t*>(a_.k) + at)[0]);
  }
  // As it acts on L samples; `count` of them are not zero.
  template <Dtype T>
  DANAUS_DEVICE float tap(int n, int count) const {
    if (static_cast<u32>(n) >= static_cast<u32>(count)) return 0;
    float sum = load_tap<T>(n);
    if (a_.circular)
      for (long long m = static_cast<long long>(n) + a_.period; m < a_.filter_length; m += a_.period) {
        sum += load_tap<T>(m);
        device::count_fp32(1);
      }
    return sum;
  }

  // Returns the sum of the magnitudes of the taps that the thread has read.
  template <Dtype T>
  DANAUS_DEVICE float fill() const {
    const int count = channel_ < a_.channels ? static_cast<int>(min(a_.filter_length, (long long)a_.period)) : 0;
    float sum = 0;
    const auto added = [&](float tap) {
      sum += fabsf(tap);
      device::count_fp32(1);
      return tap;
    };
    if (!a_.right_angle) {
      DANAUS_UNROLL_BY(4)
      for (int n = thread_; n < layout.points; n += layout.tuning.threads)
        store(address(n), {added(tap<T>(2 * n, count)), added(tap<T>(2 * n + 1, count))});
    } else if (a_.circular) {
      fill_weighted([&](int m, Complex weight) {
        return weight * Complex{added(tap<T>(m, count)), -added(tap<T>(m - (a_.size - a_.period), count))};
      });
    } else {
      fill_weighted([&](int m, Complex weight) {
        return added(static_cast<u32>(m) < static_cast<u32>(count) ? load_tap<T>(m) : 0) * weight;
      });
    }
    return sum;
  }
  // Of the right angle: weighted(m, weight) gives sample m times the weight.
  template <class Weighted>
  DANAUS_DEVICE void fill_weighted(Weighted weighted) const {
    const int q = 4 * part_ - 1, full = 4 * a_.size;
    const Complex turned = fp32::turn(-q * layout.tuning.threads, full / 2);  // from one point to the thread's next
    for (int part = 0; part < a_.parts; ++part) {
      int m = thread_ + part * layout.points;
      Complex weight = fp32::turn(-q * m % full, full / 2);
      DANAUS_UNROLL_BY(4)
      for (int n = thread_; n < layout.points; n += layout.tuning.threads, m += layout.tuning.threads) {
        Complex z = weighted(m, weight);
        if (part > 0) z = z + load(address(n));
        store(address(n), z);
        weight = weight * turned;
      }
    }
  }

  // The exponent of the sum of what the transform's threads give, between two barriers of the block.
  DANAUS_DEVICE int exponent_of_sum(float sum) const {
    for (int distance = 16; distance > 0; distance /= 2)
      sum += float_of(device::shuffle(word_of(sum), device::lane_index() ^ distance));
    const SharedAddress sums = layout.sums_begin + 4 * (device::thread_index() / layout.tuning.threads) * layout.warps;
    if (device::lane_index() == 0) device::store_shared<4>(sums + 4 * (thread_ / 32), {word_of(sum)});
    device::sync_block();
    sum = 0;
    DANAUS_UNROLL_BY(4)
    for (int warp = 0; warp < layout.warps; ++warp) sum += float_of(device::load_shared<4>(sums + 4 * warp)[0]);
    device::count_fp32(5 + layout.warps);
    return min(max(static_cast<int>(word_of(sum) >> 23), 1), 253);
  }

  // Parts transforms of `span` points into r of them each. After the last stage of the right angle frequencies go to
  // keep() from where they are.
  template <int r, int span, bool last = false, class Keep>
  DANAUS_DEVICE void stage(Keep keep) const {
    if constexpr (r > 1) {
      constexpr int kStep = span / r;
      // From a butterfly's first point on places grow evenly, in runs of 16.
      constexpr bool kEven = (kStep % 16 == 0 || 16 % kStep == 0) && (span % 16 == 0 || 16 % span == 0);
      const auto root = [&](int number) {
        return complex_of(device::load_constant<8>(a_.roots + 2 * (layout.points / span) * number));
      };
      DANAUS_UNROLL_BY(1)
      for (int i = thread_; i < layout.points / r; i += layout.tuning.threads) {
        const int n = i % kStep, first = i / kStep * span + n;
        const SharedAddress begin = address(first);
        const auto at = [&](int d) -> SharedAddress {
          return kEven ? begin + 8 * place_of(d * kStep, layout.step0) : address(first + d * kStep);
        };
        Complex x[r];
        DANAUS_UNROLL
        for (int d = 0; d < r; ++d) x[d] = load(at(d));
        fp32::dft(x);
        if constexpr (kStep > 1) fp32::times_powers(x, root(n), r > 4 ? root(4 * n) : Complex{1, 0});
        if (last && a_.right_angle) {
          DANAUS_UNROLL
          for (int d = 0; d < r; ++d) keep(frequency_at(first) + layout.points / r * d, x[d], at(d));
        } else {
          DANAUS_UNROLL
          for (int d = 0; d < r; ++d) store(at(d), x[d]);
        }
      }
      device::sync_block();
    }
  }
  static DANAUS_DEVICE int frequency_at(int p) {
    constexpr Tuning t = layout.tuning;
    return p / layout.step0 + t.radix0 * (p / layout.step1 % t.radix1 +
                                          t.radix1 * (p / layout.step2 % t.radix2 + t.radix2 * (p % layout.step2)));
  }

  // Of the pair fold, from Z to K: f and M - f at once; K[M] has a place of its own.
  template <class Keep>
  DANAUS_DEVICE void part_real(Keep keep) const {
    Complex root = fp32::turn(-thread_, layout.points);  // exp(-2 pi i f / N)
    const Complex turned = fp32::turn(-layout.tuning.threads, layout.points);
    DANAUS_UNROLL_BY(2)
    for (int f = thread_; f <= layout.points / 2; f += layout.tuning.threads) {
      const int mirror = layout.points - f;
      const SharedAddress at = place_of_frequency(f), mirrored = f == 0 ? at : place_of_frequency(mirror);
      const Complex z = load(at), other = fp32::conjugate(load(mirrored));
      const Complex even = 0.5f * (z + other), odd = 0.5f * (fp32::minus_i_times(z - other) * root);
      keep(mirror, fp32::conjugate(even - odd), f == 0 ? address(layout.points) : mirrored);
      keep(f, even + odd, at);
      root = root * turned;
    }
  }

  const Arguments& a_;
  const int thread_;
  const SharedAddress begin_;
  int channel_, part_;
  float scale_ = 1;
};

template <class P, Path path>
DANAUS_DEVICE void run(const Arguments& a) {
  device::let_next_grid_begin();
  device::wait_for_previous_grid();
  Transform<P> transform(a);
  transform.run([&](int f, Complex x, SharedAddress at) {
    x = a.scale * transform.scale() * x;
    if (a.marks) x = float_of(device::load_constant<4>(a.marks + f)[0]) * x;
    device::store_shared<4>(at, {device::pack2<Dtype::f16>(x.re, x.im)});
  });
  device::sync_block();
  if (transform.channel() < a.channels) transform.gather();
}

}  // namespace danaus::spectrum::inline DANAUS_BACKEND
