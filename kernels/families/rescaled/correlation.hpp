// dk of a channel, for the kernel that computes it once more: a sum over all rows of the batch.
//
// index      z = u + i dy, where u and dy each have a power of two. Z and its mirror give U and dY, then conj(U) dY
// range      A fast kernel errs by the sum of |u|^2 |dy|^2 over items, which has both rows of a pair together. A
//            channel is doubtful if this is much more than the sum over rows, or if an item is out of range
#pragma once

#include "kernels/families/rescaled/points.hpp"
#include "kernels/memory/scaled_rows.hpp"

namespace danaus::rescaled::inline DANAUS_BACKEND {

// Energies that fp32 may have lost numbers of.
DANAUS_DEVICE bool is_too_small(float energy) { return energy > 0 && energy < 0x1p-100f; }

// Calls take(load(i)) for i = first, first + step, ... below `end`; `at_once` loads are on their way together.
template <int at_once, class Load, class Take>
DANAUS_DEVICE void take_loads(long long first, long long end, int step, Load load, Take take) {
  DANAUS_UNROLL_BY(1)
  for (long long i = first; i < end; i += at_once * step) {
    decltype(load(i)) loaded[at_once];
    DANAUS_UNROLL
    for (int k = 0; k < at_once; ++k) loaded[k] = load(min(i + k * step, end - 1));
    DANAUS_UNROLL
    for (int k = 0; k < at_once; ++k)
      if (i + k * step < end) take(loaded[k]);
  }
}

// What a block has of `count` numbers.
template <class Number>
struct Share {
  Number first, end;
};
template <class Number>
DANAUS_DEVICE Share<Number> share_of_block(Number count) {
  const auto before = [&](int blocks) { return static_cast<Number>(1ll * count * blocks / device::block_count()); };
  return {before(device::block_index()), before(device::block_index() + 1)};
}

// Whether is_doubtful(i) says so of those of `count` numbers that this lane looks at: all warps of the block share what
// the block has, a warp as many at once as it has teams of `team` lanes.
template <class P, class IsDoubtful>
DANAUS_DEVICE bool any_doubtful(int count, int team, IsDoubtful is_doubtful) {
  constexpr int kWarps = P::layout.threads / 32;
  const Share<int> share = share_of_block(count);
  const int teams = 32 / team;
  bool any = false;
  DANAUS_UNROLL_BY(1)
  for (int first = share.first + teams * device::warp_index(); first < share.end; first += teams * kWarps)
    any |= is_doubtful(min(first + device::lane_index() / team, share.end - 1));
  return any;
}
template <class P>
DANAUS_DEVICE bool any_of_block(bool any) {
  constexpr int kWarps = P::layout.threads / 32;
  const int warp = device::warp_index();
  any = device::any_of_warp(any);
  if (device::lane_index() == 0) device::store_shared<4>(4 * warp, {any});
  device::sync_block();
  any = device::lane_index() < kWarps && device::load_shared<4>(4 * device::lane_index())[0] != 0;
  device::sync_block();
  return device::any_of_warp(any);
}

// Calls compute(i) for those of `count` numbers that this block has and is_doubtful(i) names.
template <class IsDoubtful, class Compute>
DANAUS_DEVICE void for_doubtful(int count, IsDoubtful is_doubtful, Compute compute) {
  const Share<int> share = share_of_block(count);
  DANAUS_UNROLL_BY(1)
  for (int i = share.first; i < share.end; ++i)
    if (is_doubtful(i)) compute(i);  // all warps agree
}

// One row at a time.
template <class P>
struct SingleRows {
  struct Layout {
    Dtype dtype = P::layout.dtype;
    bool pair = false, gated = true;
    int item_rows = 1;
  };
  static constexpr Layout layout{};
};

template <class P>
class CorrelatedChannels {
 public:
  DANAUS_DEVICE explicit CorrelatedChannels(const Arguments& a)
      : a_(a),
        points_(a.points + 2 * a.block_points * device::block_index(), a.correlation),
        sums_(a.points + 2 * (a.block_points * device::block_index() + a.correlation.size)),
        thread_(device::thread_index()) {}

  // Of those of this lane.
  DANAUS_DEVICE bool any_doubtful() const {
    return rescaled::any_doubtful<P>(a_.channels, 32, [&](int h) { return is_doubtful(h); }) | any_overflow(own_taps());
  }
  DANAUS_DEVICE void run() const {
    for_doubtful(
        a_.channels, [&](int h) { return is_doubtful(h) || has_overflow(h); }, [&](int h) { compute(h); });
  }

 private:
  static constexpr Layout layout = P::layout;
  static constexpr bool kHasRange = layout.dtype == Dtype::f16;
  using Rows = ScaledRows<SingleRows<P>, BlockWorker<layout.threads>, RowArrays>;

  // What is summed over a channel: of items, of rows by themselves.
  struct Sums {
    double of_items = 0, of_rows = 0;
    bool is_out_of_range = false;
    DANAUS_DEVICE void add(const double (&u)[2], const double (&dy)[2]) {
      of_items += (u[0] + u[1]) * (dy[0] + dy[1]), of_rows += u[0] * dy[0] + u[1] * dy[1];
    }
    // Rows of equal energies have twice as much by items.
    DANAUS_DEVICE bool is_even() const {
      return !layout.pair || of_items <= dynamic_range::kMostRatio<layout.dtype> * of_rows;
    }
  };

  // For whole warps to call.
  DANAUS_DEVICE bool is_doubtful(int h) const {
    Sums sums;
    for (int item = device::lane_index(); item < a_.items_of_channel; item += 32) {
      const long long first = 1ll * a_.units * (1ll * h * a_.items_of_channel + item);
      float of[2][2] = {};
      take_loads<16>(
          first, first + a_.units, 1,
          [&](long long unit) {
            const Words<2> u = device::load_global<8>(a_.correlated[0].energies + 2 * unit),
                           dy = device::load_global<8>(a_.correlated[1].energies + 2 * unit);
            return Words<4>{u[0], u[1], dy[0], dy[1]};
          },
          [&](const Words<4>& words) {
            DANAUS_UNROLL
            for (int i = 0; i < 4; ++i) of[i / 2][i % 2] += float_of(words[i]);
          });
      double energies[2][2];
      DANAUS_UNROLL
      for (int array = 0; array < 2; ++array) {
        energies[array][0] = of[array][0], energies[array][1] = of[array][1];
        const float sum = of[array][0] + of[array][1];
        sums.is_out_of_range |= !(sum < __builtin_huge_valf()) || (kHasRange && sum < a_.least_energy) ||
                                is_too_small(of[array][0]) || is_too_small(of[array][1]);
      }
      sums.add(energies[0], energies[1]);
    }
    sums = sum_of_warp(sums);
    return sums.is_out_of_range || !sums.is_even();
  }
  static DANAUS_DEVICE Sums sum_of_warp(Sums sums) {
    const auto added = [](double value, int mask) {
      const DoubleWords words = words_of(value);
      return value + double_of({device::shuffle_xor(words.low, mask), device::shuffle_xor(words.high, mask)});
    };
    DANAUS_UNROLL_BY(1)
    for (int mask = 1; mask < 32; mask *= 2)
      sums.of_items = added(sums.of_items, mask), sums.of_rows = added(sums.of_rows, mask);
    sums.is_out_of_range = device::any_of_warp(sums.is_out_of_range);
    return sums;
  }
  // Taps of the block's channels. Blocks that only look have their share of all.
  DANAUS_DEVICE Share<long long> own_taps() const {
    const long long whole = a_.taps_aligned ? 4 : 1;
    if (a_.task == Task::look) {
      const Share<long long> share = share_of_block(a_.channels * a_.filter_length / whole);
      return {whole * share.first, whole * share.end};
    }
    const Share<int> share = share_of_block(a_.channels);
    return {share.first * a_.filter_length, share.end * a_.filter_length};
  }
  // Whether sums overflowed, as they do in f16 alone: of those taps that this lane looks at.
  DANAUS_DEVICE bool any_overflow(const Share<long long>& taps) const {
    if (!kHasRange) return false;
    float sum = 0;  // of zeros, or NaN
    const auto add = [&](u32 tap) { sum = device::fma(0.0f, float_of(tap), sum); };
    if (a_.taps_aligned)
      take_loads<16>(
          taps.first / 4 + thread_, taps.end / 4, layout.threads,
          [&](long long chunk) { return device::load_global<16>(a_.dk + 4 * chunk); },
          [&](const Words<4>& words) {
            DANAUS_UNROLL
            for (int i = 0; i < 4; ++i) add(words[i]);
          });
    else
      take_loads<16>(
          taps.first + thread_, taps.end, layout.threads,
          [&](long long m) { return device::load_global<4>(a_.dk + m); }, [&](const Words<1>& tap) { add(tap[0]); });
    return !(sum == 0);
  }
  DANAUS_DEVICE bool has_overflow(int h) const {
    return any_of_block<P>(any_overflow({h * a_.filter_length, (h + 1) * a_.filter_length}));
  }

  DANAUS_DEVICE void compute(int h) const {
    bool is_finite = true;
    if (was_right(h, is_finite)) return;
    int power = 0;  // sums are times 2^-power
    if (is_finite) {
      bool is_first = true;
      DANAUS_UNROLL_BY(1)
      for (int b = 0; b < a_.correlated[0].batch; ++b) add_row(h, b, is_first, power);
      if (is_first) clear();
      spread();
      points_.template transform<true>();
    }
    store(h, is_finite, power);
    device::sync_block();  // points are free
  }

  // By exact sums. `is_finite`: all samples are.
  DANAUS_DEVICE bool was_right(int h, bool& is_finite) const {
    Sums sums;
    DANAUS_UNROLL_BY(1)
    for (int b = 0; b < a_.correlated[0].batch; b += layout.item_rows) {
      double energies[2][2] = {};
      DANAUS_UNROLL_BY(1)
      for (int i = 0; i < 2 * layout.item_rows; ++i) {
        const int row = i / 2, array = i % 2;
        if (b + row >= a_.correlated[0].batch) break;
        const double energy = Rows(a_.correlated[array], {h, b + row}).energy(0, 0);
        energies[array][row] = energy;
        is_finite &= range::is_finite(energy);
      }
      const auto is_quiet = [&](const double(&of)[2]) {
        const double sum = of[0] + of[1];
        return sum > 0 && sum < a_.least_energy;
      };
      sums.is_out_of_range |= kHasRange && (is_quiet(energies[0]) || is_quiet(energies[1]));
      sums.add(energies[0], energies[1]);
    }
    return is_finite && !sums.is_out_of_range && sums.is_even() && !has_overflow(h);
  }

  DANAUS_DEVICE void add_row(int h, int b, bool& is_first, int& power) const {
    const Rows u(a_.correlated[0], {h, b}), dy(a_.correlated[1], {h, b});
    const range::RowPowers of_u(u.energy(0, 0), 0, dynamic_range::kMostExponent);
    const range::RowPowers of_dy(dy.energy(0, 0), 0, dynamic_range::kMostExponent);
    if (!of_u.counts(0) || !of_dy.counts(0)) return;
    const int own = -(of_u.first + of_dy.first), most = is_first ? own : max(own, power);
    const auto down = [&](int exponent) {  // to what the greatest so far needs
      return static_cast<float>(range::double_power_of_two(max(exponent - most, -200)));
    };
    const float kept = is_first ? 0 : down(power), factor = down(own);
    power = most;
    DANAUS_UNROLL_BY(1)
    for (int n = 8 * thread_; n < a_.correlation.size; n += 8 * layout.threads) {
      float re[8], im[8];
      u.load(0, n, of_u, re), dy.load(0, n, of_dy, im);
      DANAUS_UNROLL
      for (int k = 0; k < 8; ++k) points_.store(n + k, {re[k], im[k]});
    }
    device::sync_block();
    points_.template transform<false>();
    DANAUS_UNROLL_BY(1)
    for (int k = thread_; k <= a_.correlation.size / 2; k += layout.threads) {
      const Complex z = points_.load(points_.place_of(k)), mirror = fp32::conjugate(points_.load(mirror_of(k)));
      const Complex product = fp32::conjugate(z + mirror) * fp32::minus_i_times(z - mirror);
      const Complex before = is_first ? Complex{0, 0} : load_sum(k);
      store_sum(k, kept * before + 0.25f * factor * product);
    }
    is_first = false;
    device::sync_block();
  }
  DANAUS_DEVICE int mirror_of(int k) const { return points_.place_of(k == 0 ? 0 : a_.correlation.size - k); }
  DANAUS_DEVICE Complex load_sum(int k) const {
    const Words<2> words = device::load_global<8>(sums_ + 2ll * k);
    return {float_of(words[0]), float_of(words[1])};
  }
  DANAUS_DEVICE void store_sum(int k, Complex x) const {
    device::store_global<8>(sums_ + 2ll * k, {word_of(x.re), word_of(x.im)});
  }
  DANAUS_DEVICE void clear() const {
    for (int k = thread_; k <= a_.correlation.size / 2; k += layout.threads) store_sum(k, {0, 0});
  }
  // Conjugates of sums, to where they and their mirrors stand.
  DANAUS_DEVICE void spread() const {
    DANAUS_UNROLL_BY(1)
    for (int k = thread_; k <= a_.correlation.size / 2; k += layout.threads) {
      const Complex sum = load_sum(k);
      points_.store(points_.place_of(k), fp32::conjugate(sum));
      if (k > 0 && 2 * k < a_.correlation.size) points_.store(mirror_of(k), sum);
    }
    device::sync_block();
  }

  // A causal filter's taps from L on touch nothing; a circular one's are what they wrap to.
  DANAUS_DEVICE void store(int h, bool is_finite, int power) const {
    const int length = a_.correlated[0].length, size = a_.correlation.size;
    const double scale = range::double_power_of_two(power) / size;
    DANAUS_UNROLL_BY(1)
    for (long long m = thread_; m < a_.filter_length; m += layout.threads) {
      const int lag = static_cast<int>(m % length);
      float value = 0;
      if (is_finite && (a_.circular || m < length)) value = points_.load(lag).re;
      if (is_finite && a_.circular && lag > 0) value += points_.load(size - length + lag).re;
      value = is_finite ? static_cast<float>(value * scale) : __builtin_nanf("");
      device::store_global<4>(a_.dk + h * a_.filter_length + m, {word_of(value)});
    }
  }

  const Arguments& a_;
  const Points<layout.threads> points_;
  float* const sums_;
  const int thread_;
};

}  // namespace danaus::rescaled::inline DANAUS_BACKEND
