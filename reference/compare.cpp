#include "reference/compare.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/basics.hpp"

namespace danaus {

Comparison compare(std::span<const double> expected, std::span<const double> actual, double summed) {
  if (expected.size() != actual.size() || expected.empty())
    fail("compare: ", expected.size(), " expected and ", actual.size(),
         " actual values, must be as many and at least 1");
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double largest_expected = 0, largest_error = 0;
  std::int64_t worst = 0;
  for (std::int64_t i = 0; i < std::ssize(expected); ++i) {
    if (!std::isfinite(expected[i]) || !std::isfinite(actual[i]))
      return {kInfinity, kInfinity, -kInfinity, kInfinity, i, false};
    largest_expected = std::max(largest_expected, std::abs(expected[i]));
    const double error = std::abs(actual[i] - expected[i]);
    if (error > largest_error) largest_error = error, worst = i;
  }
  if (largest_error == 0) return {0, 0, kInfinity, 0, worst, true};
  if (largest_expected == 0 && !(summed > 0))
    return {kInfinity, kInfinity, -kInfinity, kInfinity, worst, true, kInfinity};

  // Values are divided by their largest, so that no square overflows or vanishes.
  double expected_square = 0, error_square = 0, product = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double value = largest_expected > 0 ? expected[i] / largest_expected : 0,
                 error = (actual[i] - expected[i]) / largest_error;
    expected_square += value * value;
    error_square += error * error;
    product += value * error;
  }
  const double rel_max = largest_error / largest_expected;
  const double gain_error = largest_expected > 0 ? rel_max * product / expected_square : 0;
  const double cancelled = summed / (largest_expected * std::sqrt(expected_square));
  if (cancelled <= kWellConditioned) {
    const double rel_l2 = rel_max * std::sqrt(error_square / expected_square);
    return {rel_l2, rel_max, -20 * std::log10(rel_l2), gain_error, worst, true};
  }
  const double rms = summed / std::sqrt(static_cast<double>(expected.size()));
  const double rel_l2 = largest_error * std::sqrt(error_square) / summed;
  return {rel_l2,   largest_error / std::max(largest_expected, rms), -20 * std::log10(rel_l2), gain_error, worst, true,
          cancelled};
}

bool within(const Comparison& comparison, double bound_l2, double bound_max, double bound_gain) {
  return comparison.finite && comparison.rel_l2 <= bound_l2 && comparison.rel_max <= bound_max &&
         std::abs(comparison.gain_error) <= bound_gain;
}

}  // namespace danaus
