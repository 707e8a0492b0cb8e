#include "reference/compare.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "reference/convolution/convolve.hpp"
#include "reference/convolution/data.hpp"
#include "reference/convolution/rounding.hpp"

namespace danaus {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The verdict that a two-stage fp16 kernel would get.
class Comparator : public testing::Test {
 protected:
  const std::vector<double> expected_ = make_inputs(parse_convolution("fftconv_f16_causal_l4096_b2_h1"), {}).u;
  std::vector<double> actual_ = expected_;
  const std::int64_t samples_ = std::ssize(expected_);

  Comparison result() const { return compare(expected_, actual_); }
  bool accepted() const {
    const double bound = bound_l2(Dtype::f16, 2);
    return within(result(), bound, bound_max(bound, samples_));
  }
};

TEST_F(Comparator, AcceptsTheTruthItself) {
  EXPECT_TRUE(accepted());
  EXPECT_EQ(result().rel_l2, 0);
  EXPECT_EQ(result().rel_max, 0);
  EXPECT_EQ(result().snr_db, kInfinity);
  EXPECT_EQ(result().gain_error, 0);
}

TEST_F(Comparator, AcceptsRoundingNoise) {
  DataSpec other;
  other.seed = 1;
  const std::vector<double> noise = make_inputs(parse_convolution("fftconv_f16_causal_l4096_b2_h1"), other).u;
  for (std::int64_t i = 0; i < samples_; ++i) actual_[i] += 1e-3 * noise[i];
  EXPECT_TRUE(accepted());
  EXPECT_NEAR(result().rel_l2, 1e-3, 5e-5);  // both norms are good to 1 / sqrt(8192)
  EXPECT_NEAR(result().snr_db, 60, 0.4);
}

// A filter of one last tap leaves one sample of thousands; what was summed and cancelled leaves its rounding in all.
TEST_F(Comparator, ErrorsAreRelativeToWhatWasSummedWhereLittleIsLeft) {
  DataSpec other;
  other.seed = 1;
  const std::vector<double> noise = make_inputs(parse_convolution("fftconv_f16_causal_l4096_b2_h1"), other).u;
  std::vector<double> expected(expected_.size(), 0.0);
  expected[4095] = 0.5, expected[8191] = -0.3;
  std::vector<double> actual = expected;
  for (std::int64_t i = 0; i < samples_; ++i) actual[i] += 1e-3 * noise[i];
  const double all = std::sqrt(static_cast<double>(samples_)), bound = bound_l2(Dtype::f16, 2);
  EXPECT_FALSE(within(compare(expected, actual), bound, bound_max(bound, samples_)));
  const Comparison comparison = compare(expected, actual, all);
  EXPECT_NEAR(comparison.rel_l2, 1e-3, 5e-5);
  EXPECT_NEAR(comparison.cancelled, all / std::hypot(0.5, 0.3), 1e-9);
  EXPECT_TRUE(within(comparison, bound, bound_max(bound, samples_)));
  actual[17] += 0.02;  // six times what rounding may leave
  EXPECT_FALSE(within(compare(expected, actual, all), bound, bound_max(bound, samples_)));
}

TEST_F(Comparator, ErrorsAreRelativeToTheTruthWhereMostIsLeft) {
  for (double& value : actual_) value *= 1.003;
  double square = 0;
  for (double value : expected_) square += value * value;
  for (double more : {0., 0.5, 1.9}) {
    const Comparison comparison = compare(expected_, actual_, more * std::sqrt(square));
    EXPECT_NEAR(comparison.rel_l2, 0.003, 1e-12) << more;
    EXPECT_EQ(comparison.cancelled, 1) << more;
  }
  EXPECT_NEAR(compare(expected_, actual_, 3 * std::sqrt(square)).rel_l2, 0.001, 1e-12);
  EXPECT_NEAR(compare(expected_, actual_, 3 * std::sqrt(square)).gain_error, 0.003, 1e-12) << "whatever was summed";
}

TEST_F(Comparator, RejectsAllZeros) {
  actual_.assign(actual_.size(), 0.0);
  EXPECT_FALSE(accepted());
  EXPECT_EQ(result().rel_l2, 1);
  EXPECT_EQ(result().rel_max, 1);
  EXPECT_EQ(result().snr_db, 0);
}

TEST_F(Comparator, RejectsTheNegative) {
  for (double& value : actual_) value = -value;
  EXPECT_FALSE(accepted());
  EXPECT_DOUBLE_EQ(result().rel_l2, 2);
  EXPECT_DOUBLE_EQ(result().rel_max, 2);
  EXPECT_DOUBLE_EQ(result().gain_error, -2);
}

TEST_F(Comparator, RejectsAShiftByOneSample) {
  for (std::int64_t i = 0; i < samples_; ++i) actual_[i] = expected_[(i + 1) % samples_];
  EXPECT_FALSE(accepted());
}

TEST_F(Comparator, RejectsAScaleErrorOfOnePercent) {
  for (double& value : actual_) value *= 1.01;
  EXPECT_FALSE(accepted());
  EXPECT_NEAR(result().rel_l2, 0.01, 1e-12);
  EXPECT_NEAR(result().snr_db, 40, 1e-9);
}

// The L2 bound of bf16 is 1.5 %, and rounding noise takes half of it: only the gain tells.
TEST(Compare, SeesAScaleErrorOfOnePercentInBf16ByTheGain) {
  const Convolution problem = parse_convolution("fftconv_bf16_circular_l4096_b2_h1_n4096_pair_r64x64");
  const Inputs inputs = make_inputs(problem, {});
  const std::vector<double> expected = convolve(problem, inputs, Algorithm::fftw);
  const std::int64_t samples = std::ssize(expected);
  const double bound = bound_l2(Dtype::bf16, 2);
  for (double factor : {0.99, 1.0, 1.01}) {
    std::vector<double> actual = convolve_rounded(problem, inputs);
    for (double& value : actual) value *= factor;
    const Comparison comparison = compare(expected, actual);
    EXPECT_LT(comparison.rel_l2, bound);
    EXPECT_NEAR(comparison.gain_error, factor - 1, 0.003);
    EXPECT_EQ(within(comparison, bound, bound_max(bound, samples), bound_gain(bound, samples)), factor == 1);
  }
}

TEST_F(Comparator, RejectsOneFlippedSignByTheMaximum) {
  // In 64 rows of 768 channels the L2 error of one sample vanishes; the maximum must see it alone.
  const std::vector<double> expected(std::size_t{1} << 24, 1.0);
  std::vector<double> actual = expected;
  actual[123456] = -1;
  const Comparison comparison = compare(expected, actual);
  const double bound = bound_l2(Dtype::f16, 2);
  EXPECT_LT(comparison.rel_l2, bound);
  EXPECT_EQ(comparison.rel_max, 2);
  EXPECT_EQ(comparison.worst, 123456);
  EXPECT_FALSE(within(comparison, bound, bound_max(bound, std::ssize(expected))));
}

TEST_F(Comparator, RejectsOneValueThatIsNotFinite) {
  for (double value : {std::nan(""), kInfinity, -kInfinity}) {
    actual_ = expected_;
    actual_[77] = value;
    EXPECT_FALSE(accepted());
    EXPECT_FALSE(result().finite);
    EXPECT_EQ(result().worst, 77);
    EXPECT_EQ(result().rel_l2, kInfinity);
    EXPECT_EQ(result().rel_max, kInfinity);
    EXPECT_EQ(result().snr_db, -kInfinity);
    EXPECT_FALSE(within(result(), kInfinity, kInfinity));
    // Nor can a truth with a hole be met.
    EXPECT_FALSE(compare(actual_, actual_).finite);
  }
}

TEST_F(Comparator, RejectsAnythingAgainstABoundThatIsNotANumber) {
  EXPECT_FALSE(within(result(), std::nan(""), 1));
  EXPECT_FALSE(within(result(), 1, std::nan("")));
}

TEST_F(Comparator, FindsTheWorstIndex) {
  actual_[5] += 1e-3;
  actual_[4000] -= 2e-3;
  EXPECT_EQ(result().worst, 4000);
}

TEST(Compare, HasAnAnswerForZeroTruth) {
  const std::vector<double> zero(4, 0.0), other = {0, 0, 1e-300, 0};
  EXPECT_EQ(compare(zero, zero).rel_l2, 0);
  EXPECT_EQ(compare(zero, other).rel_l2, kInfinity);
  EXPECT_EQ(compare(zero, other).worst, 2);
  const std::vector<double> rounded = {0, 0, 1e-3, 0};
  const Comparison of_what_was_summed = compare(zero, rounded, 10);
  EXPECT_NEAR(of_what_was_summed.rel_l2, 1e-4, 1e-16);
  EXPECT_NEAR(of_what_was_summed.rel_max, 2e-4, 1e-16);
  EXPECT_EQ(of_what_was_summed.gain_error, 0);
}

TEST(Compare, NeitherOverflowsNorUnderflows) {
  for (double scale : {1e-300, 1e300}) {
    const std::vector<double> expected = {3 * scale, 4 * scale}, actual = {3 * scale, 4.5 * scale};
    EXPECT_NEAR(compare(expected, actual).rel_l2, 0.1, 1e-12);
    EXPECT_NEAR(compare(expected, actual).rel_max, 0.125, 1e-12);
    EXPECT_NEAR(compare(expected, actual).gain_error, 2.0 / 25, 1e-12);
  }
}

// Of n Gaussian errors, whose rms is 1 / sqrt(3) of the bound: the 1 - 10^-6 quantile of chi squared.
TEST(Bounds, FewErrorsMayExceedWhatManyDoNot) {
  const std::vector<std::pair<int, double>> quantiles = {{1, 23.93}, {2, 27.63}, {5, 35.89}, {10, 46.86}};
  for (const auto& [n, quantile] : quantiles) {
    EXPECT_GE(std::pow(excess_of_few(n), 2), quantile / n / 3) << n;
    EXPECT_LE(std::pow(excess_of_few(n), 2), 1.2 * quantile / n / 3) << n;
  }
  EXPECT_NEAR(excess_of_few(1e6), 1, 1e-5);
}

TEST(Compare, RefusesSizesThatDoNotMatch) {
  const std::vector<double> two(2), three(3), none;
  EXPECT_THROW(compare(two, three), std::invalid_argument);
  EXPECT_THROW(compare(none, none), std::invalid_argument);
}

}  // namespace
}  // namespace danaus
