// Two arrays side by side, sums that no order of addition changes much; the same on the GPU, where arrays are too large
// to be fetched, and on the host, where tests are.
#pragma once

#include <cmath>
#include <cstdint>

#include "experiments/timing/noise.hpp"

namespace danaus {

// Begins as Difference{}: no initializers, so that there may be one in shared memory.
struct Difference {
  double error_square, expected_square;
  float largest_error, largest_expected;
  unsigned long long nonfinite;  // on either side; such pairs are in no sum

  DANAUS_BOTH_SIDES void add(float actual, float expected) {
    if (!(fabsf(actual) <= 3.4e38f) || !(fabsf(expected) <= 3.4e38f)) {
      ++nonfinite;
      return;
    }
    const float error = fabsf(actual - expected);
    error_square += double(error) * error, expected_square += double(expected) * expected;
    largest_error = fmaxf(largest_error, error), largest_expected = fmaxf(largest_expected, fabsf(expected));
  }
  DANAUS_BOTH_SIDES void merge(const Difference& other) {
    error_square += other.error_square, expected_square += other.expected_square;
    largest_error = fmaxf(largest_error, other.largest_error);
    largest_expected = fmaxf(largest_expected, other.largest_expected);
    nonfinite += other.nonfinite;
  }
  // 0 where nothing differs, also from zeros.
  double rel_l2() const { return error_square == 0 ? 0 : std::sqrt(error_square / expected_square); }
  double rel_max() const { return largest_error == 0 ? 0 : double(largest_error) / largest_expected; }
};

// What a sample adds to the sum of its array: another sample, or the same elsewhere, adds something else.
DANAUS_BOTH_SIDES inline std::uint64_t checksum_of(std::uint16_t word, std::int64_t index) {
  return scrambled((static_cast<std::uint64_t>(index) << 16) + word + 1);
}

}  // namespace danaus
