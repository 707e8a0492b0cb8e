#include "reference/dft.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "reference/convolution/convolution.hpp"

namespace danaus {
namespace {

std::vector<Complex> samples(std::int64_t n) {
  std::vector<Complex> x(n);
  for (std::int64_t j = 0; j < n; ++j) x[j] = {std::sin(0.7 * j * j + 1), std::cos(1.3 * j * j)};
  return x;
}

double largest_difference(std::span<const Complex> a, std::span<const Complex> b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

// The inverse adds n products of size 1 and divides by n; the forward transform has results of size sqrt(n).
double tolerance(std::int64_t n) { return 1e-14 * std::sqrt(static_cast<double>(n)); }

TEST(RootOfUnity, IsExactOnTheAxes) {
  const std::int64_t n = std::int64_t{1} << 40;
  EXPECT_EQ(root_of_unity(0, n), Complex(1, 0));
  EXPECT_EQ(root_of_unity(n / 4, n), Complex(0, -1));
  EXPECT_EQ(root_of_unity(n / 2, n), Complex(-1, 0));
  EXPECT_EQ(root_of_unity(-n / 4, n), Complex(0, 1));
  EXPECT_EQ(root_of_unity(7 * n, n), Complex(1, 0));
}

TEST(RootOfUnity, StaysAccurateWhenBothAreLarge) {
  for (std::int64_t n : {3LL, 17LL, 1000003LL, (1LL << 52) - 1, (1LL << 59) - 55}) {
    for (std::int64_t k : {std::int64_t{1}, n / 8, n / 7, n / 3, n / 2, n - 1, 5 * (n / 9)}) {
      const long double angle = -2 * std::acos(-1.0L) * (static_cast<long double>(k) / static_cast<long double>(n));
      const Complex root = root_of_unity(k, n);
      EXPECT_NEAR(root.real(), static_cast<double>(std::cos(angle)), 2.3e-16) << k << "/" << n;
      EXPECT_NEAR(root.imag(), static_cast<double>(std::sin(angle)), 2.3e-16) << k << "/" << n;
    }
  }
}

TEST(DenseDft, TimesItsConjugateIsN) {
  for (int n : {1, 2, 3, 8, 15, 97, 128}) {
    const Eigen::MatrixXcd f = dense_dft(n);
    const Eigen::MatrixXcd identity = f * f.conjugate() / n;
    EXPECT_LT((identity - Eigen::MatrixXcd::Identity(n, n)).cwiseAbs().maxCoeff(), 1e-14) << n;
  }
  EXPECT_LT(std::abs(dense_dft(8)(1, 1) - std::polar(1.0, -std::acos(-1.0) / 4)), 1e-15);
  EXPECT_THROW(dense_dft(0), std::invalid_argument);
}

TEST(Dft, AgreesWithTheDenseMatrix) {
  for (int n : {1, 2, 5, 12, 17, 64, 331, 360}) {
    const std::vector<Complex> x = samples(n);
    const Eigen::VectorXcd expected = dense_dft(n) * Eigen::Map<const Eigen::VectorXcd>(x.data(), n);
    EXPECT_LT(largest_difference(dft(x), {expected.data(), std::size_t(n)}), tolerance(n)) << n;
    EXPECT_LT(largest_difference(inverse_dft(dft(x)), x), 1e-14) << n;
  }
}

TEST(Dft, OfRealSamplesIsHalfOfTheWhole) {
  for (int n : {1, 2, 3, 8, 15, 97, 100}) {
    std::vector<double> x;
    std::vector<Complex> complex_x;
    for (const Complex& value : samples(n)) x.push_back(value.real()), complex_x.push_back(value.real());
    const std::vector<Complex> half = real_dft(x), whole = dft(complex_x);
    ASSERT_EQ(std::ssize(half), n / 2 + 1);
    EXPECT_LT(largest_difference(half, std::span(whole).first(half.size())), tolerance(n)) << n;
    const std::vector<double> back = inverse_real_dft(half, n);
    for (int j = 0; j < n; ++j) EXPECT_NEAR(back[j], x[j], 1e-14);
  }
  EXPECT_THROW(inverse_real_dft(samples(4), 8), std::invalid_argument);
}

TEST(Dft, RunsInSeveralThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::vector<double> error(4, 1.0);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      double largest = 0;
      for (int n = 200; n < 240; ++n)
        largest = std::max(largest, largest_difference(inverse_dft(dft(samples(n))), samples(n)));
      error[t] = largest;
    });
  for (std::thread& thread : threads) thread.join();
  for (double value : error) EXPECT_LT(value, 1e-14);
}

TEST(Dft, RefusesNothing) {
  EXPECT_THROW(dft({}), std::invalid_argument);
  EXPECT_THROW(real_dft({}), std::invalid_argument);
}

TEST(NextSmooth, IsTheSmallest) {
  EXPECT_EQ(next_smooth(1), 1);
  EXPECT_EQ(next_smooth(11), 12);
  EXPECT_EQ(next_smooth(1009), 1024);
  EXPECT_EQ(next_smooth(671999), 672000);
}

}  // namespace
}  // namespace danaus
