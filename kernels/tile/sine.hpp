// Sines that the compiler knows.
#pragma once

namespace danaus {

// The sine of 2 pi k / n, 0 <= k < n, by its series.
constexpr double sine_of_turn(int k, int n) {
  if (2 * k > n) return -sine_of_turn(n - k, n);
  if (4 * k > n) return sine_of_turn(n - 2 * k, 2 * n);  // pi - x
  const double x = 6.28318530717958647693 * k / n;
  double term = x, sum = x;
  for (int i = 2; i < 24; i += 2) term *= -x * x / (i * (i + 1)), sum += term;
  return sum;
}

}  // namespace danaus
