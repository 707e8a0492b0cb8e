// taps: a filter's gradient, dk = Re F^-1 of the sums over the batch of conj(U) dY, in fp32.
//
// source     the stages of spectrum/kernel.hpp, on conjugates
// index      right angle: E[n] = exp(-i pi n / 2N) F^-1 has the correlation with lag n as its real part, and minus that
//            with lag n - N as its imaginary part, which a circular case adds: lag n - L is in E[n + N - L]
//            long, N = N1 N2: first along k2, of all k1, then down k1, with the twiddle of the filter's transform
//            between
// shapes     sums [P, H, N], P parts added in their order; dk [H, K]: a causal filter's taps from L on touch nothing
//            and get 0, a circular one's what they wrap to
// types      fp32
// memory     a transform's points in shared memory
// error      relative L2 at most 1e-6 of what the sums give
// reference  reference/convolution/gradient.hpp   test   tests/kernels/backward_test.cpp
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

// The inverse along a row of sums: a channel's, or that of one k1.
template <class P>
class Rows {
 public:
  DANAUS_DEVICE explicit Rows(const Arguments& a)
      : a_(a),
        points_(a.roots, device::thread_index() % layout.tuning.threads,
                device::thread_index() / layout.tuning.threads),
        row_(device::block_index() * layout.tuning.transforms + device::thread_index() / layout.tuning.threads),
        rows_(a.channels * a.outer_rows) {}

  DANAUS_DEVICE void run() const {
    DANAUS_UNROLL_BY(4)
    for (int i = points_.thread(); i < layout.points; i += layout.tuning.threads)
      Points<P>::store(points_.address(static_cast<int>(device::load_constant<4>(a_.frequencies + i)[0])),
                       row_ < rows_ ? fp32::conjugate(sum_at(i)) : Complex{0, 0});
    device::sync_block();
    points_.transform(true, [](int, Complex, SharedAddress) {});
    if (row_ >= rows_) return;
    DANAUS_UNROLL_BY(4)
    for (int n = points_.thread(); n < layout.points; n += layout.tuning.threads)
      if (a_.outer_rows > 1)
        store_row(n);
      else
        store_tap(a_, row_, n, tap_at(n));
  }

 private:
  static constexpr Layout layout = P::layout;

  DANAUS_DEVICE Complex sum_at(int i) const {
    Complex sum = {0, 0};
    for (int part = 0; part < a_.parts; ++part)
      sum = sum + complex_of(device::load_global<8>(
                      a_.sums + 2 * ((static_cast<long long>(part) * rows_ + row_) * layout.points + i)));
    return sum;
  }
  DANAUS_DEVICE Complex result_at(int n) const {
    return a_.scale * fp32::conjugate(Points<P>::load(points_.place_of_frequency(n)));
  }
  DANAUS_DEVICE Complex unweighted_at(int n) const {
    return a_.right_angle ? fp32::turn(-n, 2 * layout.points) * result_at(n) : result_at(n);
  }
  DANAUS_DEVICE float tap_at(int n) const {
    const float tap = unweighted_at(n).re;
    if (!a_.circular || !a_.right_angle || n >= a_.period) return tap;
    device::count_fp32(1);
    return tap - unweighted_at(n + a_.size - a_.period).im;
  }
  DANAUS_DEVICE void store_row(int n) const {
    const int k = row_ % a_.outer_rows;
    const int angle = static_cast<int>(static_cast<long long>(n) * (4 * k - a_.right_angle) % (4 * a_.size));
    const Complex x = result_at(n) * fp32::turn_of_quarters(angle, a_.size);
    device::store_global<8>(a_.rows + 2 * (static_cast<long long>(row_) * layout.points + n),
                            {word_of(x.re), word_of(x.im)});
  }

  const Arguments& a_;
  const Points<P> points_;
  const int row_, rows_;
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
