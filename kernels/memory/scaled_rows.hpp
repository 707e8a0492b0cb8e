// An item's rows for the second walk: by threads, with exact energies and a power of two for each row.
//
// Samples times the pregate are exact in double, times 2^power they are rounded to f16 once; so are results to samples,
// times the postgate. A row that is not finite is computed as zeros and stored as NaN: its partner is right.
#pragma once

#include "kernels/memory/short_filters.hpp"
#include "kernels/tile/range.hpp"

namespace danaus::inline DANAUS_BACKEND {

// Energies of a channel's items that the first walk takes. Of `several` parts (may_have_range_parts()) each says its
// own.
template <Dtype T, bool several, class Arguments>
DANAUS_DEVICE range::Limits limits_of(const Arguments& a, int channel) {
  range::Limits limits;
  if constexpr (T == Dtype::f16) {
    const float* ranges = a.spectrum_ranges + 2ll * a.spectrum_parts * channel;
    const auto part = [&](int i) {
      const Words<2> words = device::load_global<8>(ranges + 2 * i);
      return range::Limits{float_of(words[0]), float_of(words[1])};
    };
    const auto both = [](const range::Limits& one, const range::Limits& other) {
      return range::Limits{max(one.least, other.least), min(one.greatest, other.greatest)};
    };
    limits = part(0);
    if constexpr (several) {
      limits = both(limits, part(a.spectrum_parts - 1));  // at once: on most devices there are two
      DANAUS_UNROLL_BY(1)
      for (int i = 1; i < a.spectrum_parts - 1; ++i) limits = both(limits, part(i));
    }
  }
  return limits;
}

// What a channel's spectrum was divided by.
DANAUS_DEVICE float factor_of(const ConvolutionArguments& a, int channel) {
  return a.spectrum_factors ? float_of(device::load_global<4>(a.spectrum_factors + channel)[0]) : 1;
}

template <class P, class Worker, class Arguments = ConvolutionArguments>
class ScaledRows {
 public:
  DANAUS_DEVICE ScaledRows(const Arguments& a, const Item& item) : a_(a), item_(item) {}

  // Finds the rows' powers, or that the first walk was right about the item: then false. `factor` is what the channel's
  // spectrum was divided by. `scratch`: 8 bytes of shared memory for each warp of several.
  DANAUS_DEVICE bool scale(range::Limits limits, float factor, SharedAddress scratch, range::RowPowers& powers) const {
    const double first = energy(0, scratch), second = has_second() ? energy(1, scratch) : 0, sum = first + second;
    if (sum == 0) return false;
    constexpr double kMost = dynamic_range::kMostRatio<T>;
    const bool alike = !has_second() || (first <= kMost * second && second <= kMost * first);
    if constexpr (T == Dtype::bf16) {
      // Products with a gate are normal numbers, and so is what results are multiplied by (range::leaves_range()).
      const double result = sum * factor * factor;
      const auto is_normal = [](double energy) { return energy >= 0x1p-230 && energy <= 0x1p230; };
      if (alike && is_normal(sum) && is_normal(result)) return false;
    } else {
      if (alike && sum >= limits.least && sum <= limits.greatest) return false;
    }
    // A spectrum without a factor may exceed 1: then the limit says by how much.
    const bool exceeds = limits.greatest > 0 && limits.greatest < dynamic_range::kMostEnergy;
    powers = range::RowPowers(
        first, second,
        exceeds ? static_cast<int>(word_of(limits.greatest) >> 23) - 127 : dynamic_range::kMostExponentOfFactor<T>);
    return true;
  }

  // Samples of a slab, as f16; row_at(row) is the place of that row's.
  template <class RowAt>
  DANAUS_DEVICE void load_slab(int slab, const range::RowPowers& powers, RowAt row_at) const {
    DANAUS_UNROLL_BY(1)
    for (int i = Worker::index(); i < layout.item_rows * layout.row_chunks; i += Worker::kThreads) {
      const int row = i / layout.row_chunks, chunk = i % layout.row_chunks;
      float samples[8];
      load(row, sample_of<P>(slab, chunk), powers, samples);
      Words<4> words;
      DANAUS_UNROLL
      for (int k = 0; k < 4; ++k) words[k] = device::pack2(samples[2 * k], samples[2 * k + 1]);
      device::store_shared<16>(swizzled(row_at(row) + 16 * chunk), words);
    }
  }
  // And results, from f16; `factor` is what the channel's spectrum was divided by.
  template <class RowAt>
  DANAUS_DEVICE void store_slab(int slab, const range::RowPowers& powers, float factor, RowAt row_at) const {
    DANAUS_UNROLL_BY(1)
    for (int i = Worker::index(); i < (1 + has_second()) * layout.row_chunks; i += Worker::kThreads) {
      const int row = i / layout.row_chunks, chunk = i % layout.row_chunks;
      const Words<4> words = device::load_shared<16>(swizzled(row_at(row) + 16 * chunk));
      float results[8];
      DANAUS_UNROLL
      for (int k = 0; k < 4; ++k)
        results[2 * k] = device::lower_float(words[k]), results[2 * k + 1] = device::upper_float(words[k]);
      store(row, sample_of<P>(slab, chunk), powers, factor, results);
    }
  }

  // Of a row, in each of the threads that work together. `scratch` as scale() has it.
  DANAUS_DEVICE double energy(int number, SharedAddress scratch) const {
    const Item row{item_.channel, item_.row + number};
    double sum = 0;
    DANAUS_UNROLL_BY(1)
    for (int n = 8 * Worker::index(); n < a_.length; n += 8 * Worker::kThreads) {
      double samples[8];
      load(row, n, samples);
      DANAUS_UNROLL
      for (int k = 0; k < 8; ++k) sum = device::fma(samples[k], samples[k], sum);
    }
    DANAUS_UNROLL_BY(1)
    for (int mask = 1; mask < 32; mask *= 2) {
      const DoubleWords words = words_of(sum);
      sum += double_of({device::shuffle_xor(words.low, mask), device::shuffle_xor(words.high, mask)});
    }
    if constexpr (kWarps > 1) {
      const DoubleWords own = words_of(sum);
      if (device::lane_index() == 0) device::store_shared<8>(scratch + 8 * (Worker::index() / 32), {own.low, own.high});
      device::sync_block();
      sum = 0;
      DANAUS_UNROLL_BY(1)
      for (int warp = 0; warp < kWarps; ++warp) {
        const Words<2> words = device::load_shared<8>(scratch + 8 * warp);
        sum += double_of({words[0], words[1]});
      }
      device::sync_block();
    }
    return sum;
  }

  DANAUS_DEVICE bool has_second() const { return layout.pair && item_.row + 1 < a_.batch; }

  // The 8 samples from n on times the row's power, zero where there are none.
  DANAUS_DEVICE void load(int row, int n, const range::RowPowers& powers, float (&samples)[8]) const {
    DANAUS_UNROLL
    for (float& sample : samples) sample = 0;
    if (!powers.counts(row) || n >= a_.length) return;
    double exact[8];
    load({item_.channel, item_.row + row}, n, exact);
    const double scale = range::double_power_of_two(powers.of(row));
    DANAUS_UNROLL
    for (int k = 0; k < 8; ++k) samples[k] = static_cast<float>(exact[k] * scale);
  }
  // The 8 results from n on, as far as they are the row's.
  DANAUS_DEVICE void store(int row, int n, const range::RowPowers& powers, float factor,
                           const float (&results)[8]) const {
    if (n >= a_.result_length) return;
    const Item of_row{item_.channel, item_.row + row};
    const bool gated = layout.gated && a_.postgate;
    const int power = powers.of(row);
    const double scale = powers.counts(row) ? factor * range::double_power_of_two(-power) : 0;
    const auto result = [&](float value, float of_gate) {
      if (power == range::RowPowers::kNotFinite) return __builtin_nanf("");
      const double y = value * scale;
      return static_cast<float>(gated ? y * of_gate : y);
    };
    Words<4> words;
    if constexpr (kFiltered) {
      double gate[8] = {};
      if (gated) load_filtered(FilteredPart::postgate, of_row, n, gate);
      const auto of_gate = [&](int k) { return static_cast<float>(gate[k]); };
      DANAUS_UNROLL
      for (int k = 0; k < 4; ++k)
        words[k] =
            device::pack2<T>(result(results[2 * k], of_gate(2 * k)), result(results[2 * k + 1], of_gate(2 * k + 1)));
    } else {
      const Words<4> gate =
          gated ? load_chunk(a_.postgate, place(a_.postgate_strides, of_row, a_.result_length), n, transfer())
                : Words<4>{};
      DANAUS_UNROLL
      for (int k = 0; k < 4; ++k)
        words[k] = device::pack2<T>(result(results[2 * k], device::lower_float<T>(gate[k])),
                                    result(results[2 * k + 1], device::upper_float<T>(gate[k])));
    }
    store_chunk(a_.y, place(a_.y_strides, of_row, a_.result_length), n, transfer(), words);
  }

 private:
  static constexpr auto layout = P::layout;
  static constexpr Dtype T = layout.dtype;
  static constexpr int kWarps = Worker::kThreads / 32;
  static constexpr bool kFiltered = std::is_base_of_v<FilteredArguments, Arguments>;

  DANAUS_DEVICE Transfer transfer() const {
    return a_.transfer == Transfer::tensor || a_.transfer == Transfer::vector ? Transfer::vector : Transfer::element;
  }
  static DANAUS_DEVICE RowPlace place(const RowStrides& strides, const Item& row, int length) {
    return {offset_of(strides, row), 0, length};
  }
  // 8 samples times the pregate.
  DANAUS_DEVICE void load(const Item& row, int n, double (&samples)[8]) const {
    if constexpr (kFiltered) {
      load_filtered(FilteredPart::u, row, n, samples);
      if (!a_.pregate) return;
      double gate[8];
      load_filtered(FilteredPart::pregate, row, n, gate);
      DANAUS_UNROLL
      for (int k = 0; k < 8; ++k) samples[k] *= gate[k];
    } else {
      const Words<4> words = load_chunk(a_.u, place(a_.u_strides, row, a_.length), n, transfer());
      DANAUS_UNROLL
      for (int k = 0; k < 4; ++k)
        samples[2 * k] = device::lower_float<T>(words[k]), samples[2 * k + 1] = device::upper_float<T>(words[k]);
      if (!layout.gated || !a_.pregate) return;
      const Words<4> gate = load_chunk(a_.pregate, place(a_.pregate_strides, row, a_.length), n, transfer());
      DANAUS_UNROLL
      for (int k = 0; k < 4; ++k)
        samples[2 * k] *= device::lower_float<T>(gate[k]), samples[2 * k + 1] *= device::upper_float<T>(gate[k]);
    }
  }
  // 8 samples of a part through its short filter, zeros behind the row.
  DANAUS_DEVICE void load_filtered(FilteredPart part, const Item& row, int n, double (&samples)[8]) const {
    const bool is_u = part == FilteredPart::u, is_pregate = part == FilteredPart::pregate;
    const void* rows = is_u ? a_.u : is_pregate ? a_.pregate : a_.postgate;
    const RowStrides& strides = is_u ? a_.u_strides : is_pregate ? a_.pregate_strides : a_.postgate_strides;
    double near[16];  // from the chunk before on
    DANAUS_UNROLL
    for (int half = 0; half < 2; ++half) {
      const int first = n - 8 + 8 * half;
      const Words<4> words =
          first < 0 ? Words<4>{} : load_chunk(rows, place(strides, row, a_.length), first, transfer());
      DANAUS_UNROLL
      for (int k = 0; k < 4; ++k) {
        near[8 * half + 2 * k] = device::lower_float<T>(words[k]);
        near[8 * half + 2 * k + 1] = device::upper_float<T>(words[k]);
      }
    }
    const long long number = 1ll * number_of(a_, part) * a_.channels + row.channel;
    const float bias = a_.bias ? float_of(device::load_global<4>(a_.bias + number)[0]) : 0;
    DANAUS_UNROLL
    for (double& sample : samples) sample = bias;
    DANAUS_UNROLL
    for (int t = 0; t < 8; ++t) {
      if (t >= a_.tap_count) break;
      const double tap = float_of(device::load_global<4>(a_.taps + number * a_.tap_count + t)[0]);
      DANAUS_UNROLL
      for (int k = 0; k < 8; ++k) samples[k] = device::fma(tap, near[8 + k - t], samples[k]);
    }
    DANAUS_UNROLL
    for (int k = 0; k < 8; ++k)
      if (n + k >= a_.length) samples[k] = 0;
  }
  const Arguments& a_;
  const Item item_;
};

}  // namespace danaus::inline DANAUS_BACKEND
