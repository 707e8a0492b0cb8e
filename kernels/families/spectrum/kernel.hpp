// spectrum: a filter's transform, in fp32, into the order in which a fused kernel reads it.
//
// source     decimation in frequency (Gentleman and Sande 1966) in up to four stages, in place
// index      pair fold: N = 2 M, z[n] = k[2 n] + i k[2 n + 1], whose transform Z gives
//              K[f] = (Z[f] + conj Z[M - f]) / 2 - i/2 exp(-2 pi i f / N) (Z[f] - conj Z[M - f]),  f <= M
//            right angle: N = R M, frequency f = q + R m is frequency m of the M points
//              x_q[n] = sum_p z[n + p M] exp(-2 pi i (n + p M) (4 q - 1) / 4 N)
//            points and frequencies in digits: layout.hpp
//            filters of long convolutions, N = N1 N2: an outer pass makes points of the taps,
//              rows[k1][n2] = exp(-2 pi i n2 (4 k1 - 1) / 4 N) sum_n1 k[n1 N2 + n2] exp(-2 pi i n1 (4 k1 - 1) / 4 N1)
//            without the quarters where the fold has no weights; and each row of them is transformed, unweighted
// shapes     k [H, K], any K: causal filters are cut at L, circular ones wrap modulo L; spectrum [H, N] as
//            the convolution's spectrum_slots() order it
//            circular by the right angle: the taps once more L samples before, where a^N = i makes them
//            z[n] -= i k[n - (N - L)]. Then the real part of lo + i hi is the circular convolution
// types      k fp32, f16 or bf16; arithmetic fp32; spectrum f16
// scaling    by an argument, at the end; marks of frequencies, of the pair fold alone, there too. Where there are
//            factors, each channel's also by a power of two near the sum of its taps' magnitudes, which no frequency
//            exceeds: the factor by which the convolution multiplies again. Numbers are below 2 then, of f16 samples
//            below 1. For these, filters that f16 holds have the factor 1, and each part of a channel says which
//            energies of rows it leaves room for
// memory     a transform's points in shared memory; at the end the first word of each is a pair of 16 bits, which are
//            gathered in the order of the spectrum. Code is loops over few butterflies: what runs once waits for it
// error      relative L2 at most 1e-6 before the rounding to f16
// reference  reference/dft.hpp   test   tests/kernels/spectrum_test.cpp
#pragma once

#include <cmath>

#include "kernels/families/spectrum/layout.hpp"
#include "kernels/memory/arguments.hpp"
#include "kernels/tile/fp32.hpp"
#include "kernels/tile/limits.hpp"
#include "kernels/tile/scaled.hpp"

namespace danaus::spectrum::inline DANAUS_BACKEND {

using fp32::Complex;
using scaled::power_of_two;

template <Key key, Tuning tuning>
struct Shape {
  static constexpr Layout layout{key, tuning};
  static_assert(!layout.broken_rule(), "tunings.hpp has a line that Layout::broken_rule() refuses");
};

DANAUS_DEVICE Complex complex_of(Words<2> w) { return {float_of(w[0]), float_of(w[1])}; }

// A channel's filter.
class Taps {
 public:
  DANAUS_DEVICE Taps(const Arguments& a, int channel)
      : a_(a),
        begin_(static_cast<long long>(channel) * a.filter_length),
        count_(channel < a.channels ? static_cast<int>(min(a.filter_length, (long long)a.period)) : 0) {}

  // Cut at L.
  template <Dtype T>
  DANAUS_DEVICE float at(int n) const {
    return static_cast<u32>(n) < static_cast<u32>(count_) ? load<T>(n) : 0;
  }
  // As it acts on sample n: cut or, of a circular case, wrapped.
  template <Dtype T>
  DANAUS_DEVICE float acting_at(int n) const {
    float sum = at<T>(n);
    if (a_.circular && static_cast<u32>(n) < static_cast<u32>(count_))
      for (long long m = static_cast<long long>(n) + a_.period; m < a_.filter_length; m += a_.period) {
        sum += load<T>(m);
        device::count_fp32(1);
      }
    return sum;
  }
  // That of the right angle, which an imaginary part makes circular.
  template <Dtype T>
  DANAUS_DEVICE Complex complex_at(int n) const {
    return {acting_at<T>(n), a_.circular && a_.right_angle ? -acting_at<T>(n - (a_.size - a_.period)) : 0};
  }

 private:
  template <Dtype T>
  DANAUS_DEVICE float load(long long n) const {
    if constexpr (T == Dtype::f32)
      return float_of(device::load_global<4>(static_cast<const float*>(a_.k) + begin_ + n)[0]);
    else
      return device::lower_float<T>(device::load_global<2>(static_cast<const std::uint16_t*>(a_.k) + begin_ + n)[0]);
  }
  const Arguments& a_;
  const long long begin_;
  const int count_;
};

// Calls visit.operator()<T>() for the type of the taps.
template <class Visit>
DANAUS_DEVICE auto with_type_of_taps(const Arguments& a, Visit visit) {
  switch (a.k_dtype) {
    case Dtype::f16: return visit.template operator()<Dtype::f16>();
    case Dtype::bf16: return visit.template operator()<Dtype::bf16>();
    default: return visit.template operator()<Dtype::f32>();
  }
}

// The points of one transform in shared memory, by the threads that share it. All threads of the block call the same
// functions.
template <class P>
class Points {
 public:
  static constexpr Layout layout = P::layout;

  DANAUS_DEVICE Points(const u32* roots, int thread, int transform)
      : roots_(roots), thread_(thread), begin_(transform * layout.transform_bytes) {}

  DANAUS_DEVICE int thread() const { return thread_; }
  DANAUS_DEVICE SharedAddress begin() const { return begin_; }
  DANAUS_DEVICE SharedAddress address(int p) const { return begin_ + 8 * place_of(p, layout.step0); }
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

  // All stages. After the last one frequencies go to keep(f, x, place), or `stay` where they are.
  template <class Keep>
  DANAUS_DEVICE void transform(bool stay, Keep keep) const {
    constexpr Tuning t = layout.tuning;
    stage<t.radix0, layout.points>(stay, keep);
    stage<t.radix1, layout.step0, t.radix2 == 1>(stay, keep);
    stage<t.radix2, layout.step1, t.radix3 == 1>(stay, keep);
    stage<t.radix3, layout.step2, true>(stay, keep);
  }

 private:
  // Parts transforms of `span` points into r of them each. After the last stage frequencies go to keep() from where
  // they are.
  template <int r, int span, bool last = false, class Keep>
  DANAUS_DEVICE void stage(bool stay, Keep keep) const {
    if constexpr (r > 1) {
      constexpr int kStep = span / r;
      // From a butterfly's first point on places grow evenly, in runs of 16.
      constexpr bool kEven = (kStep % 16 == 0 || 16 % kStep == 0) && (span % 16 == 0 || 16 % span == 0);
      const auto root = [&](int number) {
        return complex_of(device::load_constant<8>(roots_ + 2 * (layout.points / span) * number));
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
        if (last && !stay) {
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

  const u32* roots_;
  const int thread_;
  const SharedAddress begin_;
};

// Of taps: of their magnitudes, and of their squares.
struct TapSums {
  float magnitudes = 0, squares = 0;
  DANAUS_DEVICE float add(float tap) {
    magnitudes += fabsf(tap), squares += tap * tap;
    device::count_fp32(3);
    return tap;
  }
  DANAUS_DEVICE void add(const Words<2>& other) {
    magnitudes += float_of(other[0]), squares += float_of(other[1]);
    device::count_fp32(2);
  }
  DANAUS_DEVICE Words<2> words() const { return {word_of(magnitudes), word_of(squares)}; }
  DANAUS_DEVICE void sum_over_warp() {
    for (int distance = 16; distance > 0; distance /= 2)
      add({device::shuffle_xor(word_of(magnitudes), distance), device::shuffle_xor(word_of(squares), distance)});
  }
};

// One transform of a filter, or of a part of it.
template <class P>
class Transform {
 public:
  static constexpr Layout layout = P::layout;

  DANAUS_DEVICE explicit Transform(const Arguments& a)
      : a_(a),
        points_(a.roots, device::thread_index() % layout.tuning.threads,
                device::thread_index() / layout.tuning.threads) {
    const int number =
        device::block_index() * layout.tuning.transforms + device::thread_index() / layout.tuning.threads;
    channel_ = number / a.parts, part_ = number % a.parts;
  }

  DANAUS_DEVICE int channel() const { return channel_; }
  DANAUS_DEVICE int part() const { return part_; }
  // What frequencies are multiplied by, where the spectrum is told apart from a factor of its channel's.
  DANAUS_DEVICE float scale() const { return scale_; }

  // From taps to frequencies: calls keep(f, x, place), where the place is then the caller's. But of real pairs f is of
  // the M points.
  template <class Keep>
  DANAUS_DEVICE void run(Keep keep) {
    TapSums sums = a_.rows ? fill_from_rows() : with_type_of_taps(a_, [&]<Dtype T>() { return fill<T>(); });
    if (a_.sums) sums = sums_of_channel();
    if (a_.factors) {
      const TapSums all = sum_of_transform(sums);
      const int exponent = exponent_of_factor(all);
      scale_ = power_of_two(254 - exponent);
      if (points_.thread() == 0 && channel_ < a_.channels) {
        if (part_ == 0) device::store_global<4>(a_.factors + channel_, {word_of(power_of_two(exponent))});
        if (a_.ranges && !a_.sums) device::store_global<4>(range(), {word_of(least_energy(all))});
        if (a_.sums && channel_ % a_.rows_of_channel == 0)
          device::store_global<8>(a_.ranges + 2 * (channel_ / a_.rows_of_channel),
                                  {word_of(least_energy(all)), word_of(__builtin_huge_valf())});
      }
    } else {
      device::sync_block();
    }
    points_.transform(a_.real_pairs, keep);
    if (a_.real_pairs) part_real(keep);
  }

  // The part of the spectrum, from the first words of the places: two pairs of slots at a time.
  DANAUS_DEVICE void gather() const {
    const int entries = a_.size / a_.parts / 4, first = part_ * entries;
    const long long begin = static_cast<long long>(channel_) * a_.size;
    const auto value = [&](u32 place, u32 sign) {
      return device::load_shared<4>(points_.begin() + 8 * (place & (kMirrored - 1)))[0] ^ (sign & 0x80000000u);
    };
    DANAUS_UNROLL_BY(2)
    for (int i = points_.thread(); i < entries; i += layout.tuning.threads) {
      const Words<2> entry = device::load_constant<8>(a_.entries + 2 * (first + i));
      const u32 at = a_.numbers ? device::load_constant<4>(a_.numbers + first + i)[0] : i;
      Words<4> words;
      DANAUS_UNROLL
      for (int pair = 0; pair < 2; ++pair) {
        const u32 even = value(entry[pair], entry[pair] << 16), odd = value(entry[pair] >> 16, entry[pair]);
        words[2 * pair] = device::permute_bytes(even, odd, 0x5410);
        words[2 * pair + 1] = device::permute_bytes(even, odd, 0x7632);
      }
      if (a_.spectrum) device::store_global<16>(a_.spectrum + begin + 4 * at, words);
      if (!a_.conjugate) continue;
      words[1] ^= 0x80008000u, words[3] ^= 0x80008000u;
      device::store_global<16>(a_.conjugate + begin + 4 * at, words);
    }
  }

  // Between the stored frequencies and what comes after the block's next barrier: of those that this thread has stored
  // the greatest magnitude's square.
  DANAUS_DEVICE void note_greatest(float square) const {
    const u32 greatest = device::max_of_warp(word_of(square));
    if (device::lane_index() == 0) device::store_shared<4>(sum_place(points_.thread() / 32), {greatest});
  }
  // After it: the greatest energy of an item that this part of the channel's spectrum leaves room for.
  DANAUS_DEVICE void store_greatest_energy() const {
    if (points_.thread() > 0 || channel_ >= a_.channels) return;
    float square = 1;
    for (int warp = 0; warp < layout.warps; ++warp)
      square = max(square, float_of(device::load_shared<4>(sum_place(warp))[0]));
    device::store_global<4>(range() + 1, {word_of(scale_ == 1 ? dynamic_range::kMostEnergy / square : 0)});
  }

 private:
  // Returns the sums over the taps that the thread has read.
  template <Dtype T>
  DANAUS_DEVICE TapSums fill() const {
    const Taps taps(a_, channel_);
    TapSums sums;
    const auto added = [&](float tap) { return sums.add(tap); };
    if (a_.real_pairs) {
      DANAUS_UNROLL_BY(4)
      for (int n = points_.thread(); n < layout.points; n += layout.tuning.threads)
        Points<P>::store(points_.address(n),
                         {added(taps.template acting_at<T>(2 * n)), added(taps.template acting_at<T>(2 * n + 1))});
    } else if (a_.circular) {
      fill_weighted([&](int m, Complex weight) {
        const Complex tap = taps.template complex_at<T>(m);
        return weight * Complex{added(tap.re), added(tap.im)};
      });
    } else {
      fill_weighted([&](int m, Complex weight) { return added(taps.template at<T>(m)) * weight; });
    }
    return sums;
  }
  DANAUS_DEVICE TapSums fill_from_rows() const {
    TapSums sums;
    fill_weighted([&](int m, Complex weight) {
      if (channel_ >= a_.channels) return Complex{};
      const long long at = 2 * (static_cast<long long>(channel_) * a_.size + m);
      const Complex point = complex_of(device::load_global<8>(a_.rows + at));
      return weight * Complex{sums.add(point.re), sums.add(point.im)};
    });
    return sums;
  }
  // Those of the outer pass that this thread adds.
  DANAUS_DEVICE TapSums sums_of_channel() const {
    TapSums sums;
    if (channel_ >= a_.channels) return sums;
    const long long first = static_cast<long long>(channel_ / a_.rows_of_channel) * a_.sums_of_channel;
    for (int i = points_.thread(); i < a_.sums_of_channel; i += layout.tuning.threads)
      sums.add(device::load_global<8>(a_.sums + 2 * (first + i)));
    return sums;
  }
  // Of one part of several: weighted(m, weight) gives sample m times the weight.
  template <class Weighted>
  DANAUS_DEVICE void fill_weighted(Weighted weighted) const {
    const int q = 4 * part_ - a_.right_angle, full = 4 * a_.size;
    const Complex turned =
        fp32::turn(-q * layout.tuning.threads % full, full / 2);  // from one point to the thread's next
    for (int part = 0; part < a_.parts; ++part) {
      int m = points_.thread() + part * layout.points;
      Complex weight = fp32::turn(static_cast<int>(-static_cast<long long>(q) * m % full), full / 2);
      DANAUS_UNROLL_BY(4)
      for (int n = points_.thread(); n < layout.points; n += layout.tuning.threads, m += layout.tuning.threads) {
        Complex z = weighted(m, weight);
        if (part > 0) z = z + Points<P>::load(points_.address(n));
        Points<P>::store(points_.address(n), z);
        weight = weight * turned;
      }
    }
  }

  DANAUS_DEVICE SharedAddress sum_place(int warp) const {
    return layout.sums_begin + 8 * (device::thread_index() / layout.tuning.threads * layout.warps + warp);
  }
  // Over the transform's threads, between two barriers of the block.
  DANAUS_DEVICE TapSums sum_of_transform(TapSums sums) const {
    sums.sum_over_warp();
    if (device::lane_index() == 0) device::store_shared<8>(sum_place(points_.thread() / 32), sums.words());
    device::sync_block();
    sums = {};
    DANAUS_UNROLL_BY(4)
    for (int warp = 0; warp < layout.warps; ++warp) sums.add(device::load_shared<8>(sum_place(warp)));
    return sums;
  }
  // Of the power of two by which the channel's spectrum is divided.
  DANAUS_DEVICE int exponent_of_factor(const TapSums& taps) const {
    using namespace dynamic_range;
    constexpr int kOne = 127;
    const float sum = taps.magnitudes;
    if (sum == 0 || (a_.ranges && taps.squares >= kLeastTapEnergy && sum <= kMostTapSum)) return kOne;
    return scaled::normal_exponent(static_cast<int>(word_of(sum) >> 23) + (a_.ranges ? 1 : 0));
  }
  // Of an item that the first walk takes, before the product with the spectrum and behind it; of a silent filter any.
  // None where the factor is another than 1.
  DANAUS_DEVICE float least_energy(const TapSums& taps) const {
    if (scale_ != 1) return __builtin_huge_valf();
    float points = static_cast<float>(a_.real_pairs ? 2 * layout.points : a_.parts * layout.points);
    if (a_.sums) points *= static_cast<float>(a_.rows_of_channel);
    return taps.squares > 0 ? points * dynamic_range::kLeastSquare / min(taps.squares, 1.f) : 0;
  }
  DANAUS_DEVICE float* range() const { return a_.ranges + 2 * (static_cast<long long>(channel_) * a_.parts + part_); }

  // Of the pair fold, from Z to K: f and M - f at once; K[M] has a place of its own.
  template <class Keep>
  DANAUS_DEVICE void part_real(Keep keep) const {
    Complex root = fp32::turn(-points_.thread(), layout.points);  // exp(-2 pi i f / N)
    const Complex turned = fp32::turn(-layout.tuning.threads, layout.points);
    DANAUS_UNROLL_BY(2)
    for (int f = points_.thread(); f <= layout.points / 2; f += layout.tuning.threads) {
      const int mirror = layout.points - f;
      const SharedAddress at = points_.place_of_frequency(f),
                          mirrored = f == 0 ? at : points_.place_of_frequency(mirror);
      const Complex z = Points<P>::load(at), other = fp32::conjugate(Points<P>::load(mirrored));
      const Complex even = 0.5f * (z + other), odd = 0.5f * (fp32::minus_i_times(z - other) * root);
      keep(mirror, fp32::conjugate(even - odd), f == 0 ? points_.address(layout.points) : mirrored);
      keep(f, even + odd, at);
      root = root * turned;
    }
  }

  const Arguments& a_;
  const Points<P> points_;
  int channel_, part_;
  float scale_ = 1;
};

template <class P>
DANAUS_DEVICE void run_whole(const Arguments& a) {
  Transform<P> transform(a);
  float greatest = 0;  // of squares of magnitudes
  transform.run([&](int f, Complex x, SharedAddress at) {
    x = a.scale * transform.scale() * x;
    if (a.marks) x = float_of(device::load_constant<4>(a.marks + f)[0]) * x;
    greatest = max(greatest, device::fma(x.re, x.re, x.im * x.im));
    device::count_fp32(4);
    device::store_shared<4>(at, {device::pack2<Dtype::f16>(x.re, x.im)});
  });
  const bool has_greatest = a.ranges && !a.sums;
  if (has_greatest) transform.note_greatest(greatest);
  device::sync_block();
  if (has_greatest) transform.store_greatest_energy();
  if (transform.channel() < a.channels) transform.gather();
}

// A transform down each of neighbouring columns of N1 rows. Neighbouring threads move neighbouring columns; a column's
// own threads transform it.
template <class P>
class Columns {
 public:
  DANAUS_DEVICE Columns(int size, const u32* roots) : roots_(roots), count_(size / layout.points) {
    const int tiles = count_ / kAtOnce;
    channel_ = device::block_index() / tiles;
    column_ = device::block_index() % tiles * kAtOnce + device::thread_index() % kAtOnce;
  }
  DANAUS_DEVICE int channel() const { return channel_; }
  // The one that this thread moves, of so many.
  DANAUS_DEVICE int column() const { return column_; }
  DANAUS_DEVICE int count() const { return count_; }

  // point(n) gives row n of this thread's column.
  template <class Point>
  DANAUS_DEVICE void fill(Point point) const {
    const Points<P> moved = moved_points();
    DANAUS_UNROLL_BY(4)
    for (int n = row(); n < layout.points; n += kStep) Points<P>::store(moved.address(n), point(n));
  }
  // keep(k, x) takes its frequency k.
  template <class Keep>
  DANAUS_DEVICE void transform(Keep keep) const {
    const int thread = device::thread_index();
    device::sync_block();
    Points<P>(roots_, thread % layout.tuning.threads, thread / layout.tuning.threads)
        .transform(true, [](int, Complex, SharedAddress) {});
    const Points<P> moved = moved_points();
    DANAUS_UNROLL_BY(4)
    for (int k = row(); k < layout.points; k += kStep) keep(k, Points<P>::load(moved.place_of_frequency(k)));
  }

 private:
  static constexpr Layout layout = P::layout;
  static constexpr int kAtOnce = layout.tuning.transforms, kStep = layout.threads / kAtOnce;

  static DANAUS_DEVICE int row() { return device::thread_index() / kAtOnce; }
  DANAUS_DEVICE Points<P> moved_points() const { return {roots_, 0, device::thread_index() % kAtOnce}; }

  const u32* const roots_;
  const int count_;
  int channel_, column_;
};

// The outer pass: from taps to rows.
template <class P>
DANAUS_DEVICE void run_columns(const Arguments& a) {
  const Columns<P> columns(a.size, a.roots);
  const int column = columns.column();
  TapSums sums;
  with_type_of_taps(a, [&]<Dtype T>() {
    const Taps taps(a, columns.channel());
    columns.fill([&](int n) {
      const Complex tap = taps.template complex_at<T>(n * columns.count() + column);
      sums.add(tap.re), sums.add(tap.im);
      return a.right_angle ? fp32::turn(n, 2 * P::layout.points) * tap : tap;
    });
  });
  if (a.sums) {
    constexpr int kWarps = P::layout.threads / 32;
    sums.sum_over_warp();
    if (device::lane_index() == 0)
      device::store_global<8>(a.sums + 2 * (kWarps * device::block_index() + device::thread_index() / 32),
                              sums.words());
  }
  float* const rows = a.rows + 2 * static_cast<long long>(columns.channel()) * a.size;
  columns.transform([&](int k, Complex x) {
    const int angle = static_cast<int>(static_cast<long long>(column) * (4 * k - a.right_angle) % (4 * a.size));
    x = x * fp32::turn_of_quarters(-angle, a.size);
    device::store_global<8>(rows + 2 * (static_cast<long long>(k) * columns.count() + column),
                            {word_of(x.re), word_of(x.im)});
  });
}

template <class P, Path path>
DANAUS_DEVICE void run(const Arguments& a) {
  device::let_next_grid_begin();
  device::wait_for_previous_grid();
  if constexpr (P::layout.key.columns)
    run_columns<P>(a);
  else
    run_whole<P>(a);
}

}  // namespace danaus::spectrum::inline DANAUS_BACKEND
