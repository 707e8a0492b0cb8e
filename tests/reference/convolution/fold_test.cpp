#include "reference/convolution/fold.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "reference/convolution/convolution.hpp"

namespace danaus {
namespace {

using Row = std::vector<double>;

Row samples(std::int64_t n, double frequency) {
  Row x(n);
  for (std::int64_t j = 0; j < n; ++j) x[j] = std::sin(frequency * j * j + 1);
  return x;
}

// The first n samples of sum_m k[m] u[j - m], with u zero outside or repeating after `period`.
Row convolved(const Row& u, const Row& k, std::int64_t n, std::int64_t period) {
  Row y(n);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t m = 0; m < std::ssize(k); ++m) {
      const std::int64_t source = period == 0 ? j - m : ((j - m) % period + period) % period;
      if (source >= 0 && source < std::ssize(u)) y[j] += k[m] * u[source];
    }
  return y;
}

std::vector<Complex> multiplied(std::vector<Complex> a, const std::vector<Complex>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] *= b[i];
  return a;
}

void expect_near(const Row& actual, const Row& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t j = 0; j < actual.size(); ++j) ASSERT_NEAR(actual[j], expected[j], 1e-12) << j;
}

TEST(Pair, ConvolvesTwoRowsAtOnce) {
  for (std::int64_t n : {1, 2, 15, 64}) {
    const Row first = samples(n, 0.7), second = samples(n, 1.1), k = samples(n, 0.3);
    Row y_first(n), y_second(n);
    unfold_pair(inverse_dft(multiplied(dft(fold_pair(first, second, n)), dft(fold_pair(k, {}, n)))), y_first, y_second);
    expect_near(y_first, convolved(first, k, n, n));
    expect_near(y_second, convolved(second, k, n, n));
  }
}

TEST(Half, SpectrumIsThatOfTheRow) {
  for (std::int64_t n : {2, 4, 6, 30, 64}) {
    const Row x = samples(n, 0.7);
    const std::vector<Complex> folded = dft(fold_half(x, n)), spectrum = half_to_spectrum(folded),
                               expected = real_dft(x);
    ASSERT_EQ(spectrum.size(), expected.size());
    for (std::size_t k = 0; k < spectrum.size(); ++k) ASSERT_LT(std::abs(spectrum[k] - expected[k]), 1e-12) << k;
    const std::vector<Complex> back = spectrum_to_half(spectrum);
    for (std::size_t k = 0; k < back.size(); ++k) ASSERT_LT(std::abs(back[k] - folded[k]), 1e-12) << k;
  }
}

TEST(Half, ConvolvesOneRowInHalfThePoints) {
  for (std::int64_t n : {2, 6, 64}) {
    const Row u = samples(n, 0.7), k = samples(n / 2, 0.3);
    Row y(n);
    unfold_half(inverse_dft(half_product(dft(fold_half(u, n)), dft(fold_half(k, n)))), y);
    expect_near(y, convolved(u, k, n, n));
  }
}

TEST(RightAngle, HoldsTheLinearConvolutionOfTwiceTheLength) {
  for (std::int64_t n : {1, 2, 15, 64}) {
    const Row u = samples(n, 0.7), k = samples(n, 0.3);
    Row lo(n), hi(n);
    unfold_right_angle(inverse_dft(multiplied(dft(fold_right_angle(u, n)), dft(fold_right_angle(k, n)))), lo, hi);
    Row both = lo;
    both.insert(both.end(), hi.begin(), hi.end());
    expect_near(both, convolved(u, k, 2 * n, 0));
  }
}

TEST(Fold, FillsShortRowsWithZeros) {
  const Row x = {1, 2, 3};
  EXPECT_EQ(fold_pair(x, {}, 4), (std::vector<Complex>{1, 2, 3, 0}));
  EXPECT_EQ(fold_half(x, 6), (std::vector<Complex>{{1, 2}, {3, 0}, 0}));
  EXPECT_EQ(fold_right_angle(x, 5)[4], Complex(0));
}

TEST(Fold, RefusesRowsThatDoNotFit) {
  const Row x(5);
  EXPECT_THROW(fold_pair(x, {}, 4), std::invalid_argument);
  EXPECT_THROW(fold_pair({}, x, 4), std::invalid_argument);
  EXPECT_THROW(fold_half(x, 4), std::invalid_argument);
  EXPECT_THROW(fold_half(x, 7), std::invalid_argument);
  EXPECT_THROW(fold_right_angle(x, 4), std::invalid_argument);
}

}  // namespace
}  // namespace danaus
