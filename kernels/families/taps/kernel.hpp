// taps: a filter's gradient, dk = Re F^-1 of the sums over the batch of conj(U) dY, in fp32.
//
// source     the stages of spectrum/kernel.hpp, on conjugates
// index      the samples n = q + R m of a row, R = 1 or 2, by a transform each: of M points, which R sums and a twiddle
//            are folded into first
//            right angle: E[n] = exp(-i pi n / 2N) F^-1 has the correlation with lag n as its real part, and minus that
//            with lag n - N as its imaginary part, which a circular case adds: lag n - L is in E[n + N - L]
//            long, N = N1 N2: first along k2, of all k1, then down k1, with the twiddle of the filter's transform
//            between
// shapes     sums [P, H, N], P parts added in their order; dk [H, K]: a causal filter's taps from L on touch nothing
//            and get 0, a circular one's what they wrap to
// types      fp32
// memory     a transform's points in shared memory; those of one row read its sums one after the other, which L2 then
// has error      relative L2 at most 1e-6 of what the sums give reference  reference/convolution/gradient.hpp   test
// tests/kernels/backward_test.cpp
#pragma once

#include "kernels/families/spectrum/kernel.hpp"
#include "kernels/families/taps/layout.hpp"

namespace danaus::taps::inline DANAUS_BACKEND {

using fp32::Complex;
using spectrum::complex_of;
using spectrum::Points;

template <Key key, Tuning tuning>
struct Shape {
  static constexpr Layout layout{key, tuning};
  static_assert(!layout.broken_rule(), "tunings.hpp has a line that Layout::broken_rule() refuses");
};

// What sample n of the correlation gives of a channel's taps, all that it is.
DANAUS_DEVICE void store_tap(const Arguments& a, int channel, int n, float value) {
  float* const dk = a.dk + channel * a.filter_length;
  if (a.circular && n >= a.period) return;
  for (long long j = n; j < a.filter_length; j += a.circular ? a.period : a.size)
    device::store_global<4>(dk + j, {word_of(a.circular || j < a.period ? value : 0)});
}
// The same of lag n - N, to what stands there.
DANAUS_DEVICE void add_tap(const Arguments& a, int channel, int n, float value) {
  float* const dk = a.dk + channel * a.filter_length;
  for (long long j = n - (a.size - a.period); j >= 0 && j < a.filter_length; j += a.period) {
    device::count_fp32(1);
    device::store_global<4>(dk + j, {word_of(float_of(device::load_global<4>(dk + j)[0]) + value)});
  }
}

// The inverse along a row of sums, a channel's or that of one k1: as much of it as one transform gives.
template <class P>
class Rows {
 public:
  DANAUS_DEVICE explicit Rows(const Arguments& a)
      : a_(a),
        points_(a.roots, device::thread_index() % layout.tuning.threads,
                device::thread_index() / layout.tuning.threads),
        row_(number() / a.phases),
        phase_(number() % a.phases),
        rows_(a.channels * a.outer_rows),
        size_(a.phases * layout.points) {}

  DANAUS_DEVICE void run() const {
    a_.phases == 1 ? fill<1>() : fill<2>();
    device::sync_block();
    points_.transform(true, [](int, Complex, SharedAddress) {});
    if (row_ >= rows_) return;
    DANAUS_UNROLL_BY(4)
    for (int m = points_.thread(); m < layout.points; m += layout.tuning.threads)
      if (a_.outer_rows > 1)
        store_row(m);
      else if (a_.wraps)
        add_tap(a_, row_, sample_of(m), -unweighted_at(m).im);
      else
        store_tap(a_, row_, sample_of(m), tap_at(m));
  }

 private:
  static constexpr Layout layout = P::layout;

  static DANAUS_DEVICE int number() {
    return device::block_index() * layout.tuning.transforms + device::thread_index() / layout.tuning.threads;
  }
  DANAUS_DEVICE int sample_of(int m) const { return phase_ + a_.phases * m; }

  // Points of conjugate sums, some at a time: loads shall not wait for those before.
  template <int phases>
  DANAUS_DEVICE void fill() const {
    constexpr int kAtOnce = layout.points / layout.tuning.threads % 4 == 0 ? 4 : 1;
    const float sign = phase_ == 0 ? 1 : -1;
    DANAUS_UNROLL_BY(1)
    for (int i = points_.thread(); i < layout.points; i += kAtOnce * layout.tuning.threads) {
      int k[kAtOnce];
      Complex sums[kAtOnce][phases] = {};
      const float* from[kAtOnce][phases];
      DANAUS_UNROLL
      for (int n = 0; n < kAtOnce; ++n) {
        DANAUS_UNROLL
        for (int j = 0; j < phases; ++j) {
          const int at = j * layout.points + i + n * layout.tuning.threads;
          const u32 entry = device::load_constant<4>(a_.entries + at)[0];
          k[n] = static_cast<int>(entry >> 16);
          from[n][j] = a_.sums + 2 * (static_cast<long long>(row_) * size_ + (entry & 0xffff));
        }
      }
      DANAUS_UNROLL_BY(1)
      for (int part = 0; part < a_.parts && row_ < rows_; ++part) {
        DANAUS_UNROLL
        for (int n = 0; n < kAtOnce; ++n) {
          DANAUS_UNROLL
          for (int j = 0; j < phases; ++j) {
            sums[n][j] = sums[n][j] + complex_of(device::load_global<8>(from[n][j]));
            from[n][j] += 2 * static_cast<long long>(rows_) * size_;
          }
        }
      }
      DANAUS_UNROLL
      for (int n = 0; n < kAtOnce; ++n) {
        Complex z = fp32::conjugate(sums[n][0]);
        if constexpr (phases == 2) {
          z = z + sign * fp32::conjugate(sums[n][1]);
          if (phase_ == 1) z = fp32::turn_of_quarters(-k[n], size_ / 4) * z;
        }
        Points<P>::store(points_.address(k[n]), z);
      }
    }
  }
  DANAUS_DEVICE Complex result_at(int m) const {
    return a_.scale * fp32::conjugate(Points<P>::load(points_.place_of_frequency(m)));
  }
  DANAUS_DEVICE Complex unweighted_at(int m) const {
    return a_.right_angle ? fp32::turn(-sample_of(m), 2 * size_) * result_at(m) : result_at(m);
  }
  // What goes round is here too, where there is one phase.
  DANAUS_DEVICE float tap_at(int m) const {
    const float tap = unweighted_at(m).re;
    if (!a_.circular || !a_.right_angle || a_.phases > 1 || m >= a_.period) return tap;
    device::count_fp32(1);
    return tap - unweighted_at(m + a_.size - a_.period).im;
  }
  DANAUS_DEVICE void store_row(int m) const {
    const int k = row_ % a_.outer_rows, n = sample_of(m);
    const int angle = static_cast<int>(static_cast<long long>(n) * (4 * k - a_.right_angle) % (4 * a_.size));
    const Complex x = result_at(m) * fp32::turn_of_quarters(angle, a_.size);
    device::store_global<8>(a_.rows + 2 * (static_cast<long long>(row_) * size_ + n), {word_of(x.re), word_of(x.im)});
  }

  const Arguments& a_;
  const Points<P> points_;
  const int row_, phase_, rows_, size_;
};

// The inverse down the columns of N1 rows.
template <class P>
DANAUS_DEVICE void run_columns(const Arguments& a) {
  const spectrum::Columns<P> columns(a.size, a.roots);
  const int column = columns.column();
  const float* const rows = a.rows + 2 * static_cast<long long>(columns.channel()) * a.size;
  columns.fill([&](int k) {
    const float* const at = rows + 2 * (static_cast<long long>(k) * columns.count() + column);
    return fp32::conjugate(complex_of(device::load_global<8>(at)));
  });
  columns.transform([&](int n, Complex x) {
    x = fp32::conjugate(x);
    if (a.right_angle) x = fp32::turn(-n, 2 * P::layout.points) * x;
    if (a.wraps)
      add_tap(a, columns.channel(), n * columns.count() + column, -x.im);
    else
      store_tap(a, columns.channel(), n * columns.count() + column, x.re);
  });
}

template <class P, Path path>
DANAUS_DEVICE void run(const Arguments& a) {
  device::let_next_grid_begin();
  device::wait_for_previous_grid();
  if constexpr (P::layout.key.columns)
    run_columns<P>(a);
  else
    Rows<P>(a).run();
}

}  // namespace danaus::taps::inline DANAUS_BACKEND
