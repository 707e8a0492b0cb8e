// Energies of an item's rows: which items a transform takes as they are, and the powers of two of others.
//
// The first walk sums squares beside the transform, in f16: a multiply-add for a word of samples, and two products of
// matrices. What it refuses is computed again, with exact sums and a power of two for each row
// (memory/scaled_rows.hpp).
#pragma once

#include "kernels/tile/bits.hpp"
#include "kernels/tile/limits.hpp"

namespace danaus::inline DANAUS_BACKEND::range {

// Between which a channel's items have their energy; at first any.
struct Limits {
  float least = 0, greatest = __builtin_huge_valf();
};

// Of bf16 samples: whether what results are multiplied by may leave fp32's range where y does not. Of samples with the
// least exponent, silence among them, it never does.
DANAUS_DEVICE bool leaves_range(int exponent, float factor) {
  return (exponent > 1) & !(factor >= 0x1p-126f && factor <= 0x1p126f);
}

// Sums of squares of a lane's samples of two rows, as packed f16; of many samples two of each row, since a sum waits
// for itself.
template <int sums>
struct LaneSquares {
  u32 of[2][sums] = {};
  template <int row>
  DANAUS_DEVICE void add(u32 samples, int number) {
    u32& sum = of[row][number % sums];
    sum = device::fma2(samples, samples, sum);
  }
  DANAUS_DEVICE u32 total(int row) const {
    if constexpr (sums == 1)
      return of[row][0];
    else
      return device::add2(of[row][0], of[row][1]);
  }
};

// Of two rows, what a warp has of them.
struct Energies {
  float first, second;
};
inline constexpr u32 kOnes = 0x3c003c00;
// Squares are tiles of columns: sums down each column; of a pair of the first row in rows 0 to 7, less `other` times
// those of the second, and of the second likewise in rows 8 to 15.
template <bool pair, class Squares>
DANAUS_DEVICE void sum_columns(const Squares& squares, u32 other, u32 (&columns)[2]) {
  columns[0] = columns[1] = 0;
  if constexpr (pair)
    device::mma_f16acc(columns, {kOnes, other, other, kOnes}, {squares.total(0), squares.total(1)});
  else
    device::mma_f16acc(columns, {kOnes, kOnes}, squares.total(0));
}
// In every lane.
template <bool pair, class Squares>
DANAUS_DEVICE Energies energies_of(const Squares& squares) {
  u32 columns[2];
  sum_columns<pair>(squares, 0, columns);
  float sums[4] = {0, 0, 0, 0};
  device::mma_f32acc<Dtype::f16>(sums, {columns[0], columns[1]}, kOnes);
  return {sums[0], pair ? sums[2] : 0};
}

// Why the first walk may be wrong about an item: one row is much quieter, or its energy is out of range. NaN is both.
struct Verdict {
  bool uneven = false, out_of_range = false;
  // `two`: there is a second row.
  DANAUS_DEVICE bool refuses(bool two) const { return (uneven & two) | out_of_range; }
};

// Judges items by the energies of what a warp has of them, one of `parts` parts, each of which counts for all.
template <Dtype T, bool pair, int parts>
struct Judge {
  template <class Squares>
  static DANAUS_DEVICE Verdict judge(const Squares& squares, Limits limits) {
    // Each row's energy less what it must have of the other's; their sum is that of the energies times 1 - kLeast.
    constexpr float kLeast = 1 / dynamic_range::kMostRatio<T>, kWeight = parts / (pair ? 1 - kLeast : 1);
    u32 columns[2];
    sum_columns<pair>(squares, device::pack2(-kLeast, -kLeast), columns);
    float sums[4] = {0, 0, 0, 0};  // of the first row in 0, of the second in 2
    device::mma_f32acc<Dtype::f16>(sums, {columns[0], columns[1]}, device::pack2(kWeight, kWeight));
    Verdict verdict;
    if constexpr (pair) verdict.uneven = !(sums[0] >= 0 && sums[2] >= 0);
    if constexpr (T == Dtype::f16) {  // samples of bf16 have a power of two already
      const float sum = pair ? sums[0] + sums[2] : sums[0];
      verdict.out_of_range = !(sum >= limits.least && sum <= limits.greatest);
    }
    return verdict;
  }
};

// The exponent of a positive normal number; and its number in steps of 2^-20 exponents, roughly.
DANAUS_DEVICE int exponent_of(double value) { return static_cast<int>(words_of(value).high >> 20) - 1023; }
DANAUS_DEVICE int steps_of(double value) { return static_cast<int>(words_of(value).high); }
DANAUS_DEVICE bool is_finite(double value) { return (words_of(value).high >> 20 & 0x7ff) != 0x7ff; }
// For exponents of normal numbers.
DANAUS_DEVICE double double_power_of_two(int exponent) {
  return double_of({0, static_cast<u32>(1023 + exponent) << 20});
}

// Exponents of what a pair's rows are multiplied by: norms then differ by a factor of 1.46 at most, and the pair's is
// below 2^(most / 2) and above a third of it. A row without energy, or that is not finite, is computed as zeros.
struct RowPowers {
  static constexpr int kSilent = -10000, kNotFinite = -20000;
  int first = 0, second = 0;

  DANAUS_DEVICE RowPowers() {}
  DANAUS_DEVICE RowPowers(double energy, double other, int most) {
    const int of_first = counted(energy), of_second = counted(other);
    const bool both = of_first > kSilent && of_second > kSilent;
    const int difference = both ? (steps_of(energy) - steps_of(other) + (1 << 20)) >> 21 : 0;
    const int power = (most - 2 - max(of_first, of_second + 2 * difference)) >> 1;
    first = of_first > kSilent ? power : of_first;
    second = of_second > kSilent ? power + difference : of_second;
  }
  DANAUS_DEVICE int of(int row) const { return row == 0 ? first : second; }
  DANAUS_DEVICE bool counts(int row) const { return of(row) > kSilent; }

 private:
  static DANAUS_DEVICE int counted(double energy) {
    return !is_finite(energy) ? kNotFinite : energy > 0 ? exponent_of(energy) : kSilent;
  }
};

}  // namespace danaus::inline DANAUS_BACKEND::range
