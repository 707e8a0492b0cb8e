// rescaled: computes doubtful items of the fast kernels once more. Each row has a power of two of its own.
//
// shapes     u, y and gates [B, H, L] of a convolution, L <= N. A block takes an item: two batch rows (pair fold) or
//            one (right angle). For gradients also dk [H, K]; then a block takes a channel
// types      samples f16 or bf16, arithmetic fp32, the fast kernels' spectrum in f16
// range      The fast kernels leave the energy of each row in each unit of an item, or NaN where results are not
//            finite. An item is doubtful if its energies are uneven or out of range. Exact sums then decide
// memory     The points of a block are in global memory and stay in L2: made for few items, not for speed
// launches   One launch looks and computes. If memory has room for few blocks, a launch of many blocks looks first, and
//            these few compute
// error      that of fp32 for rows of one loudness, and the rounding of the spectrum
// reference  reference/convolution/convolve.hpp, gradient.hpp   test   tests/kernels/rows_test.cpp
#pragma once

#include "kernels/families/rescaled/correlation.hpp"

namespace danaus::rescaled::inline DANAUS_BACKEND {

template <Key key, Tuning tuning>
struct Shape {
  static constexpr Layout layout{key, tuning};
};

// Items of one convolution.
template <class P>
class ConvolvedItems {
 public:
  DANAUS_DEVICE ConvolvedItems(const Arguments& a, const RowArrays& rows)
      : a_(a),
        rows_(rows),
        points_(a.points + 2 * a.block_points * device::block_index(), a.stages),
        thread_(device::thread_index()) {}

  // Of those of this lane.
  DANAUS_DEVICE bool any_doubtful() const {
    return rescaled::any_doubtful<P>(a_.channels * a_.items_of_channel, team(),
                                     [&](int i) { return look_at(i).is_doubtful; });
  }
  DANAUS_DEVICE void run() const {
    for_doubtful(
        a_.channels * a_.items_of_channel, [&](int i) { return look_at(i).is_doubtful; },
        [&](int i) { compute(i, look_at(i)); });
  }

 private:
  static constexpr Layout layout = P::layout;
  using Rows = ScaledRows<P, BlockWorker<layout.threads>, RowArrays>;

  struct Look {
    bool is_doubtful, is_broken;  // results are not finite
  };
  DANAUS_DEVICE Item item_at(int i) const {
    return {i / a_.items_of_channel, layout.item_rows * (i % a_.items_of_channel)};
  }
  DANAUS_DEVICE float least_of(const Item& item) const {
    return a_.least_share * limits_of<layout.dtype, false>(a_, item.channel).least;
  }

  // So many lanes add an item's energies: a power of two.
  DANAUS_DEVICE int team() const { return a_.units < 32 ? 1 : 32; }
  // What the fast kernels say of an item, the same to a team. For whole warps to call.
  DANAUS_DEVICE Look look_at(int i) const {
    const float* const of_item = rows_.energies + 2ll * a_.units * i;
    float first = 0, second = 0;
    take_loads<16>(
        device::lane_index() % team(), a_.units, team(),
        [&](long long unit) { return device::load_global<8>(of_item + 2 * unit); },
        [&](const Words<2>& words) { first += float_of(words[0]), second += float_of(words[1]); });
    DANAUS_UNROLL_BY(1)
    for (int mask = 1; mask < team(); mask *= 2) {
      first += float_of(device::shuffle_xor(word_of(first), mask));
      second += float_of(device::shuffle_xor(word_of(second), mask));
    }
    constexpr float kMost = dynamic_range::kMostRatio<layout.dtype>, kInfinity = __builtin_huge_valf();
    const float sum = first + second;
    const Item item = item_at(i);
    const bool two = layout.pair && item.row + 1 < rows_.batch;
    const bool is_even = !two || (first <= kMost * second && second <= kMost * first);
    const bool is_in_range = sum >= least_of(item) && sum < kInfinity && !is_too_small(sum);
    return {!(is_even && is_in_range), !(sum <= kInfinity)};
  }

  DANAUS_DEVICE void compute(int i, const Look& look) const {
    const Item item = item_at(i);
    const Rows rows(rows_, item);
    range::RowPowers powers;
    range::Limits limits{least_of(item)};
    if (look.is_broken) limits = {limits.greatest, 0};  // none
    if (!rows.scale(limits, 1, 0, powers)) return;
    float factor = a_.scale;
    if (powers.counts(0) || powers.counts(1)) {
      fill(rows, powers);
      points_.template transform<false>();
      factor *= multiply(item.channel);
      points_.template transform<true>();
    }
    DANAUS_UNROLL_BY(1)
    for (int row = 0; row < 1 + rows.has_second(); ++row) store(rows, row, powers, factor);
    device::sync_block();  // points are free
  }

  // The right angle's weight of sample n.
  DANAUS_DEVICE Complex weight(int n) const { return fp32::turn(n, 2 * a_.stages.size); }

  DANAUS_DEVICE void fill(const Rows& rows, const range::RowPowers& powers) const {
    DANAUS_UNROLL_BY(1)
    for (int n = 8 * thread_; n < a_.stages.size; n += 8 * layout.threads) {
      float re[8], im[8] = {};
      rows.load(0, n, powers, re);
      if (rows.has_second()) rows.load(1, n, powers, im);
      DANAUS_UNROLL
      for (int k = 0; k < 8; ++k) points_.store(n + k, layout.pair ? Complex{re[k], im[k]} : re[k] * weight(n + k));
    }
    device::sync_block();
  }
  // `number` is 0, or 1 for the second of a pair. Points are conjugate after the way back.
  DANAUS_DEVICE void store(const Rows& rows, int number, const range::RowPowers& powers, float factor) const {
    DANAUS_UNROLL_BY(1)
    for (int n = 8 * thread_; n < rows_.length; n += 8 * layout.threads) {
      float values[8] = {};
      if (powers.counts(number)) {
        DANAUS_UNROLL
        for (int k = 0; k < 8; ++k) {
          Complex x = points_.load(n + k);
          if (!layout.pair) x = weight(n + k) * x;
          values[k] = number == 0 ? x.re : -x.im;
        }
      }
      rows.store(number, n, powers, factor, values);
    }
  }

  // By the channel's spectrum, to conjugate numbers. Returns what they were divided by: the greatest factor of its
  // rows, so that no other makes them larger.
  DANAUS_DEVICE float multiply(int channel) const {
    const int columns = a_.stages.size / a_.outer_rows;
    const float* const factors = a_.spectrum_factors + 1ll * channel * a_.live;
    u32 greatest = 0;
    for (int row = device::lane_index(); row < a_.live; row += 32)
      greatest = max(greatest, device::load_global<4>(factors + row)[0]);
    greatest = device::max_of_warp(greatest);
    DANAUS_UNROLL_BY(1)
    for (int p = thread_; p < a_.stages.size; p += layout.threads) {
      const int k = points_.frequency_at(p);
      const int row = static_cast<int>(device::load_constant<4>(a_.slots + k % a_.outer_rows)[0]);
      Complex of{0, 0};
      if (row >= 0) {
        const u32 column = device::load_constant<4>(a_.slots + a_.outer_rows + k / a_.outer_rows)[0];
        const long long of_row = 1ll * channel * a_.live + row;
        const Words<2> two = device::load_global<8>(a_.spectrum + of_row * columns + column / 2 * 2);
        of = column % 2 == 0 ? Complex{device::lower_float(two[0]), device::lower_float(two[1])}
                             : Complex{device::upper_float(two[0]), device::upper_float(two[1])};
        if (rows_.conjugate) of = fp32::conjugate(of);
        of = float_of(device::load_global<4>(factors + row)[0]) / float_of(greatest) * of;
      }
      points_.store(p, fp32::conjugate(of * points_.load(p)));
    }
    device::sync_block();
    return float_of(greatest);
  }

  const Arguments& a_;
  const RowArrays& rows_;
  const Points<layout.threads> points_;
  const int thread_;
};

// Whether this lane finds a doubtful item or channel among those that it looks at.
template <class P>
DANAUS_DEVICE bool finds_any(const Arguments& a) {
  bool any = false;
  DANAUS_UNROLL_BY(1)
  for (int i = 0; i < a.convolutions; ++i) any |= ConvolvedItems<P>(a, a.rows[i]).any_doubtful();
  if constexpr (P::layout.key.gradients) any |= CorrelatedChannels<P>(a).any_doubtful();
  return any;
}
// Whether the launch before found any.
DANAUS_DEVICE bool any_found(const Arguments& a) {
  bool any = false;
  take_loads<16>(
      device::lane_index(), a.looking, 32, [&](long long block) { return device::load_global<4>(a.found + block); },
      [&](const Words<1>& found) { any |= found[0] != 0; });
  return device::any_of_warp(any);
}

template <class P, Path path>
DANAUS_DEVICE void run(const Arguments& a) {
  device::let_next_grid_begin();
  device::wait_for_previous_grid();
  const bool any = a.task == Task::compute ? any_found(a) : any_of_block<P>(finds_any<P>(a));
  if (a.task == Task::look && device::thread_index() == 0)
    device::store_global<4>(a.found + device::block_index(), {any});
  if (a.task == Task::look || !any) return;
  DANAUS_UNROLL_BY(1)
  for (int i = 0; i < a.convolutions; ++i) ConvolvedItems<P>(a, a.rows[i]).run();
  if constexpr (P::layout.key.gradients) CorrelatedChannels<P>(a).run();
}

}  // namespace danaus::rescaled::inline DANAUS_BACKEND
