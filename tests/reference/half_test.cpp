#include "reference/half.hpp"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace danaus {
namespace {

// All finite values from 0 up, in order: the positive bit patterns count upwards.
template <class Half>
std::vector<double> values() {
  std::vector<double> all;
  for (int bits = 0; bits < 0x8000; ++bits) {
    const double value = static_cast<float>(Eigen::numext::bit_cast<Half>(static_cast<std::uint16_t>(bits)));
    if (std::isfinite(value)) all.push_back(value);
  }
  return all;
}

void expect_nearest_even(Dtype dtype, const std::vector<double>& all) {
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    const double low = all[i], high = all[i + 1], middle = (low + high) / 2;
    const double even = i % 2 == 0 ? low : high;  // the last bit of pattern i
    for (double sign : {1.0, -1.0}) {
      ASSERT_EQ(round_to(dtype, sign * low), sign * low);
      ASSERT_EQ(round_to(dtype, sign * middle), sign * even) << low;
      // Nearer to the middle than fp32 can tell: wrong when the rounding goes through fp32.
      ASSERT_EQ(round_to(dtype, sign * middle * (1 - 0x1p-50)), sign * low) << low;
      ASSERT_EQ(round_to(dtype, sign * middle * (1 + 0x1p-50)), sign * high) << low;
      ASSERT_EQ(round_to(dtype, static_cast<float>(sign * middle)), static_cast<float>(sign * even)) << low;
    }
  }
}

TEST(Half, RoundsToNearestEvenOverAllOfF16) { expect_nearest_even(Dtype::f16, values<Eigen::half>()); }

TEST(Half, RoundsToNearestEvenOverAllOfBf16) { expect_nearest_even(Dtype::bf16, values<Eigen::bfloat16>()); }

TEST(Half, KnowsTheEndsOfTheRange) {
  EXPECT_EQ(round_to(Dtype::f16, 65519.999999999), 65504);
  EXPECT_EQ(round_to(Dtype::f16, 65520.0), HUGE_VAL);
  EXPECT_EQ(round_to(Dtype::f16, -1e300), -HUGE_VAL);
  EXPECT_EQ(round_to(Dtype::bf16, 1e300), HUGE_VAL);
  EXPECT_EQ(round_to(Dtype::f32, 1e300), HUGE_VAL);
  EXPECT_EQ(round_to(Dtype::f64, 1e300), 1e300);
  EXPECT_EQ(round_to(Dtype::f16, 0x1p-24), 0x1p-24);
  EXPECT_EQ(round_to(Dtype::f16, 0x1p-25), 0);
  EXPECT_TRUE(std::signbit(round_to(Dtype::f16, -0.0)));
}

TEST(Half, KnowsWhatARoundingTakes) {
  EXPECT_EQ(half_ulp(Dtype::f16, 1), 0x1p-11);
  EXPECT_EQ(half_ulp(Dtype::f16, -1.999), 0x1p-11);
  EXPECT_EQ(half_ulp(Dtype::f16, 2), 0x1p-10);
  EXPECT_EQ(half_ulp(Dtype::f16, 0x1p-20), 0x1p-25);
  EXPECT_EQ(half_ulp(Dtype::f16, 0), 0x1p-25);
  EXPECT_EQ(half_ulp(Dtype::bf16, 1), 0x1p-8);
  EXPECT_EQ(half_ulp(Dtype::f32, 3), 0x1p-23);
  EXPECT_EQ(half_ulp(Dtype::f64, 1), 0x1p-53);
  EXPECT_THROW(half_ulp(Dtype::f32, HUGE_VAL), std::invalid_argument);
}

TEST(Half, KeepsWhatIsNotANumber) {
  for (Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64})
    EXPECT_TRUE(std::isnan(round_to(dtype, std::nan("")))) << name(dtype);
}

}  // namespace
}  // namespace danaus
