// rescaled: items of a long convolution that the fast kernels may be wrong about, once more, each row with a power of
// two of its own.
//
// source     Gentleman and Sande 1966 there, Cooley and Tukey 1965 back, so that nothing is reordered
// index      stage by stage n = step n1 + n2, k = k1 + r k2; frequencies stand in the order of reversed digits
// shapes     u, y, gates [B, H, L], L <= N; a block takes an item, two batch rows (pair fold) or one (right angle)
// types      samples f16 or bf16, arithmetic fp32, the fast kernels' spectrum in f16
// range      the fast kernels leave the energy of each row in each unit of eight columns, and NaN where results are not
//            finite. An item that is uneven or out of range by these is looked at, and computed if exact sums agree
// memory     a block's points in global memory, which L2 keeps: made for few items, not for speed
// error      fp32's, of rows as loud as each other, beside the rounding of the spectrum
// reference  reference/convolution/convolve.hpp   test   tests/kernels/rows_test.cpp
#pragma once

#include "kernels/families/rescaled/layout.hpp"
#include "kernels/memory/scaled_rows.hpp"
#include "kernels/tile/fp32.hpp"

namespace danaus::rescaled::inline DANAUS_BACKEND {

using fp32::Complex;

template <Key key, Tuning tuning>
struct Shape {
  static constexpr Layout layout{key, tuning};
};

template <class P>
class Block {
 public:
  DANAUS_DEVICE explicit Block(const Arguments& a)
      : a_(a), points_(a.points + 2ll * a.size * device::block_index()), thread_(device::thread_index()) {}

  DANAUS_DEVICE void run() {
    const int warp = device::warp_index(), block = device::block_index(), blocks = device::block_count();
    bool any = false;
    for (int i = block + blocks * warp; i < a_.items; i += blocks * kWarps) any |= look_at(i).is_doubtful;
    if (device::lane_index() == 0) device::store_shared<4>(4 * warp, {any});
    device::sync_block();
    any = false;
    for (int i = 0; i < kWarps; ++i) any |= device::load_shared<4>(4 * i)[0] != 0;
    device::sync_block();
    if (!any) return;
    DANAUS_UNROLL_BY(1)
    for (int i = block; i < a_.items; i += blocks)  // all warps agree
      if (const Look look = look_at(i); look.is_doubtful) compute(i, look);
  }

 private:
  static constexpr Layout layout = P::layout;
  static constexpr int kWarps = layout.threads / 32;
  using Rows = ScaledRows<P, BlockWorker<layout.threads>>;

  struct Look {
    bool is_doubtful, is_broken;  // results are not finite
  };
  DANAUS_DEVICE Item item_at(int i) const {
    return {i / a_.items_of_channel, layout.item_rows * (i % a_.items_of_channel), 0};
  }

  // What the fast kernels say of an item. For whole warps to call.
  DANAUS_DEVICE Look look_at(int i) const {
    const int units = a_.size / a_.outer_rows / 8;
    const float* const of_item = a_.energies + 2ll * units * i;
    float first = 0, second = 0;
    DANAUS_UNROLL_BY(4)
    for (int unit = device::lane_index(); unit < units; unit += 32) {
      const Words<2> words = device::load_global<8>(of_item + 2 * unit);
      first += float_of(words[0]), second += float_of(words[1]);
    }
    DANAUS_UNROLL_BY(1)
    for (int mask = 1; mask < 32; mask *= 2) {
      first += float_of(device::shuffle_xor(word_of(first), mask));
      second += float_of(device::shuffle_xor(word_of(second), mask));
    }
    constexpr float kMost = dynamic_range::kMostRatio<layout.dtype>, kInfinity = __builtin_huge_valf();
    const float sum = first + second;
    const Item item = item_at(i);
    const bool two = layout.pair && item.row + 1 < a_.rows.batch;
    const bool is_even = !two || (first <= kMost * second && second <= kMost * first);
    const float least = limits_of<layout.dtype, false>(a_.rows, item.channel).least;
    return {!(is_even && sum >= least && sum < kInfinity), !(sum <= kInfinity)};
  }

  DANAUS_DEVICE void compute(int i, const Look& look) const {
    const Item item = item_at(i);
    const Rows rows(a_.rows, item);
    range::RowPowers powers;
    range::Limits limits{limits_of<layout.dtype, false>(a_.rows, item.channel).least};
    if (look.is_broken) limits = {limits.greatest, 0};  // none
    if (!rows.scale(limits, 1, 0, powers)) return;
    float factor = a_.scale;
    if (powers.counts(0) || (rows.has_second() && powers.counts(1))) {
      fill(rows, powers);
      transform<false>();
      factor *= multiply(item.channel);
      transform<true>();
    }
    for (int row = 0; row < 1 + rows.has_second(); ++row) store(rows, row, powers, factor);
    device::sync_block();  // points are free
  }

  DANAUS_DEVICE Complex load_point(int n) const {
    const Words<2> words = device::load_global<8>(points_ + 2ll * n);
    return {float_of(words[0]), float_of(words[1])};
  }
  DANAUS_DEVICE void store_point(int n, Complex x) const {
    device::store_global<8>(points_ + 2ll * n, {word_of(x.re), word_of(x.im)});
  }
  // The right angle's weight of sample n.
  DANAUS_DEVICE Complex weight(int n) const { return fp32::turn(n, 2 * a_.size); }

  DANAUS_DEVICE void fill(const Rows& rows, const range::RowPowers& powers) const {
    DANAUS_UNROLL_BY(1)
    for (int n = 8 * thread_; n < a_.size; n += 8 * layout.threads) {
      float re[8], im[8] = {};
      rows.load(0, n, powers, re);
      if (layout.pair && rows.has_second()) rows.load(1, n, powers, im);
      DANAUS_UNROLL
      for (int k = 0; k < 8; ++k)
        store_point(n + k, layout.pair ? Complex{re[k], im[k]} : re[k] * weight(n + k));
    }
    device::sync_block();
  }
  // `number` is 0, or 1 for the second of a pair. Points are conjugate after the way back.
  DANAUS_DEVICE void store(const Rows& rows, int number, const range::RowPowers& powers, float factor) const {
    DANAUS_UNROLL_BY(1)
    for (int n = 8 * thread_; n < a_.rows.length; n += 8 * layout.threads) {
      float values[8] = {};
      if (powers.counts(number)) {
        DANAUS_UNROLL
        for (int k = 0; k < 8; ++k) {
          Complex x = load_point(n + k);
          if (!layout.pair) x = weight(n + k) * x;
          values[k] = number == 0 ? x.re : -x.im;
        }
      }
      rows.store(number, n, powers, factor, values);
    }
  }

  // Of all points, in place. The way back transforms conjugate numbers.
  template <bool back>
  DANAUS_DEVICE void transform() const {
    int span = back ? 1 : a_.size;
    DANAUS_UNROLL_BY(1)
    for (int s = 0; s < a_.stages; ++s) {
      const int radix = a_.radices[back ? a_.stages - 1 - s : s];
      if (back) span *= radix;
      switch (radix) {
        case 2: stage<2, back>(span); break;
        case 3: stage<3, back>(span); break;
        case 4: stage<4, back>(span); break;
        case 5: stage<5, back>(span); break;
        case 7: stage<7, back>(span); break;
        case 8: stage<8, back>(span); break;
        default: stage<16, back>(span);
      }
      if (!back) span /= radix;
    }
  }
  template <int r, bool back>
  DANAUS_DEVICE void stage(int span) const {
    const int step = span / r;
    DANAUS_UNROLL_BY(1)
    for (int i = thread_; i < a_.size / r; i += layout.threads) {
      const int n = i % step, first = i / step * span + n;
      Complex x[r];
      DANAUS_UNROLL
      for (int d = 0; d < r; ++d) x[d] = load_point(first + step * d);
      const Complex w = fp32::turn(-2 * n, span);
      const Complex w4 = r > 4 ? fp32::turn_of_quarters(-4 * n, span / 4) : Complex{1, 0};
      if (back) fp32::times_powers(x, w, w4);
      fp32::dft(x);
      if (!back) fp32::times_powers(x, w, w4);
      DANAUS_UNROLL
      for (int d = 0; d < r; ++d) store_point(first + step * d, x[d]);
    }
    device::sync_block();
  }

  // By the channel's spectrum, to conjugate numbers. Returns what they were divided by: the greatest factor of its rows,
  // so that no other makes them larger.
  DANAUS_DEVICE float multiply(int channel) const {
    const int columns = a_.size / a_.outer_rows;
    const float* const factors = a_.rows.spectrum_factors + 1ll * channel * a_.live;
    u32 greatest = 0;
    for (int row = device::lane_index(); row < a_.live; row += 32)
      greatest = max(greatest, device::load_global<4>(factors + row)[0]);
    greatest = device::max_of_warp(greatest);
    DANAUS_UNROLL_BY(1)
    for (int p = thread_; p < a_.size; p += layout.threads) {
      int k = 0, weight = 1, rest = p, step = a_.size;
      DANAUS_UNROLL_BY(1)
      for (int s = 0; s < a_.stages; ++s) {
        const int radix = a_.radices[s];
        step /= radix;
        k += weight * (rest / step), rest %= step, weight *= radix;
      }
      const int row = static_cast<int>(device::load_constant<4>(a_.slots + k % a_.outer_rows)[0]);
      Complex of{0, 0};
      if (row >= 0) {
        const u32 column = device::load_constant<4>(a_.slots + a_.outer_rows + k / a_.outer_rows)[0];
        const long long of_row = 1ll * channel * a_.live + row;
        const Words<2> two = device::load_global<8>(a_.rows.spectrum + of_row * columns + column / 2 * 2);
        of = column % 2 == 0 ? Complex{device::lower_float(two[0]), device::lower_float(two[1])}
                             : Complex{device::upper_float(two[0]), device::upper_float(two[1])};
        of = float_of(device::load_global<4>(factors + row)[0]) / float_of(greatest) * of;
      }
      store_point(p, fp32::conjugate(of * load_point(p)));
    }
    device::sync_block();
    return float_of(greatest);
  }

  const Arguments& a_;
  float* const points_;
  const int thread_;
};

template <class P, Path path>
DANAUS_DEVICE void run(const Arguments& a) {
  device::let_next_grid_begin();
  device::wait_for_previous_grid();
  Block<P>(a).run();
}

}  // namespace danaus::rescaled::inline DANAUS_BACKEND
