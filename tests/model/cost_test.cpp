#include "model/cost.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/support.hpp"

namespace danaus {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t K = 1 << 10;
constexpr std::int64_t M = 1 << 20;

Convolution one_sequence(std::int64_t points) {
  Convolution p;
  p.length = p.filter_length = points;
  p.fold = Fold::plain;
  return p;
}

// Eq. 2 for one sequence, in ps per point: what Figure 4 shows.
double cost(std::int64_t points, int order, const HardwareProfile& profile) {
  return predict_eq2(with_factors(one_sequence(points), profile, order), profile).ps_per_token_bh;
}

// Figure 4 has no published numbers. These were worked out by hand from Eq. 2 and Table 19 with balanced factors; two
// decimals. At 4M balanced factors are 64 x 64 x 32 x 32, which would cost 17.35 if the 64K points that the outer step
// leaves were in SRAM; they do not fit, so the rule has 128 x 32 x 32 x 32, as the paper's code.
TEST(Cost, OfFigure4IsEq2WorkedOutByHand) {
  struct Row {
    std::int64_t points;
    double order2, order3, order4;
  };
  const Row rows[] = {
      {256, 3.03, 19.44, 16.23},      {1 * K, 5.22, 16.90, 23.50},   {4 * K, 9.59, 4.55, 30.78},
      {16 * K, 18.35, 6.73, 18.42},   {32 * K, 27.10, 7.83, 12.24},  {64 * K, 40.93, 17.64, 8.60},
      {256 * K, 75.94, 22.02, 10.79}, {1 * M, 145.96, 30.77, 12.98}, {2 * M, 215.98, 35.15, 15.17},
      {4 * M, 285.99, 43.90, 19.54},
  };
  for (const Row& row : rows) {
    EXPECT_NEAR(cost(row.points, 2, a100()), row.order2, 0.0051) << row.points;
    EXPECT_NEAR(cost(row.points, 3, a100()), row.order3, 0.0051) << row.points;
    EXPECT_NEAR(cost(row.points, 4, a100()), row.order4, 0.0051) << row.points;
  }
}

// The paper's three statements about Figure 4, on every device that has a profile.
class Figure4 : public testing::TestWithParam<std::string> {
 protected:
  const HardwareProfile profile = load_profile(GetParam());
};

TEST_P(Figure4, Order2IsCheapestForShortSequences) {
  for (std::int64_t points = 256; points <= 2 * K; points *= 2) {
    EXPECT_LT(cost(points, 2, profile), cost(points, 3, profile)) << points;
    EXPECT_LT(cost(points, 2, profile), cost(points, 4, profile)) << points;
  }
}

TEST_P(Figure4, HigherOrdersCostMoreWhileTheirFactorsAreBelowTheMatrixUnit) {
  // The step at which the last factor reaches 16 makes a longer sequence cheaper per point.
  EXPECT_GT(cost(2 * K, 3, profile), 2 * cost(4 * K, 3, profile));
  for (std::int64_t points = 256; points <= 2 * K; points *= 2)
    EXPECT_GT(cost(points, 3, profile), cost(4 * K, 3, profile)) << points;
  for (std::int64_t points = 256; points <= 32 * K; points *= 2)
    EXPECT_GT(cost(points, 4, profile), cost(64 * K, 4, profile)) << points;
}

TEST_P(Figure4, Order3JumpsBetween32KAnd64KWhereOrder4DoesNot) {
  const auto growth = [&](std::int64_t points, int order) {
    return cost(2 * points, order, profile) / cost(points, order, profile);
  };
  for (std::int64_t points = 4 * K; points <= 2 * M; points *= 2) {
    if (points == 32 * K) {
      EXPECT_GT(growth(points, 3), 1.8);
    } else {
      EXPECT_LT(growth(points, 3), 1.4) << points;
    }
  }
  EXPECT_LT(growth(32 * K, 4), 1);
}

INSTANTIATE_TEST_SUITE_P(Devices, Figure4, testing::ValuesIn(profile_names()), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
});

TEST(Cost, ChoosesTheOrdersThatThePaperUses) {
  for (std::int64_t points = 256; points <= 2 * K; points *= 2) EXPECT_EQ(choose_order(points, a100()), 2) << points;
  for (std::int64_t points = 4 * K; points <= 32 * K; points *= 2) EXPECT_EQ(choose_order(points, a100()), 3) << points;
  for (std::int64_t points = 64 * K; points <= 4 * M; points *= 2) EXPECT_EQ(choose_order(points, a100()), 4) << points;
  EXPECT_EQ(choose_order(4, a100()), 2);
  EXPECT_THROW(choose_order(2, a100()), std::invalid_argument);
}

TEST(Cost, NamesUnitMemoryAndReasonOfEachStep) {
  const Prediction p = predict_eq2(parse_convolution("fftconv_f16_circular_l16384_b1_h1_plain_r16x16x8x8"), a100());
  ASSERT_EQ(p.terms.size(), 4U);
  EXPECT_EQ(p.terms[0].unit, "matrix");
  EXPECT_EQ(p.terms[3].unit, "general");
  EXPECT_EQ(p.terms[3].memory, "sram");
  EXPECT_EQ(
      p.terms[3].reason,
      "8 is below the matrix unit's 16: general arithmetic; the sequence, 64 KiB, fits in a block's 163 KiB: SRAM");
  EXPECT_EQ(p.limit, "general");
  EXPECT_DOUBLE_EQ(p.terms[3].compute_us, 16.0 * 16384 * 8 / 17.6e6);
  EXPECT_DOUBLE_EQ(p.terms[3].memory_us, 4.0 * 16384 / 9.5e6);
  double sum = 0;
  for (const Term& term : p.terms) sum += term.compute_us + term.memory_us;
  EXPECT_DOUBLE_EQ(p.total_us, sum);
}

TEST(Cost, NamesHbmWhereItTakesTheLargestShare) {
  const Prediction p = predict_eq2(with_factors(one_sequence(64 * K), a100(), 3), a100());
  EXPECT_EQ(p.limit, "hbm");
  EXPECT_EQ(p.terms[0].memory, "hbm");
}

TEST(Cost, CountsTheSequencesThatAFoldMakes) {
  const auto total = [](const char* token) { return predict_eq2(parse_convolution(token), a100()).total_us; };
  const double plain = total("fftconv_f16_circular_l1024_b64_h768_plain_r32x32");
  EXPECT_DOUBLE_EQ(plain, 64 * 768 * total("fftconv_f16_circular_l1024_b1_h1_plain_r32x32"));
  EXPECT_DOUBLE_EQ(total("fftconv_f16_circular_l1024_b64_h768_pair_r32x32"), plain / 2);
  EXPECT_DOUBLE_EQ(total("fftconv_f16_circular_l1024_b63_h768_pair_r32x32"), plain / 2);  // an odd last row runs alone
  EXPECT_DOUBLE_EQ(total("fftconv_f16_circular_l2048_b64_h768_half_r32x32"), plain);
  EXPECT_DOUBLE_EQ(total("fftconv_f16_causal_l1024_b64_h768_rightangle_r32x32"), plain);
}

TEST(Cost, ChoosesWhatACaseLeavesOpen) {
  const auto completed = [](const char* text, int order = 0) {
    return token(with_factors(parse_convolution(text), a100(), order));
  };
  EXPECT_EQ(completed("fftconv_f16_circular_l1024_b2_h1"), "fftconv_f16_circular_l1024_b2_h1_n1024_pair_r32x32");
  EXPECT_EQ(completed("fftconv_f16_causal_l1000_b2_h1"), "fftconv_f16_causal_l1000_b2_h1_n1024_rightangle_r32x32");
  EXPECT_EQ(completed("fftconv_f16_causal_l1000_b2_h1_plain"), "fftconv_f16_causal_l1000_b2_h1_n2048_plain_r64x32");
  EXPECT_EQ(completed("fftconv_f16_circular_l1000_b2_h1"), "fftconv_f16_circular_l1000_b2_h1_n2048_pair_r64x32");
  EXPECT_EQ(completed("fftconv_f16_circular_l2048_b2_h1_half"), "fftconv_f16_circular_l2048_b2_h1_n2048_half_r32x32");
  EXPECT_EQ(completed("fftconv_f16_circular_l4096_b2_h1", 2), "fftconv_f16_circular_l4096_b2_h1_n4096_pair_r64x64");
  EXPECT_EQ(completed("fftconv_f16_circular_l1536_b2_h1_r24x64"), "fftconv_f16_circular_l1536_b2_h1_n1536_pair_r24x64");
}

TEST(Cost, SaysWhatTheNumberDoesNot) {
  HardwareProfile unmeasured = load_profile("H100");
  unmeasured.matrix_rate.kind = unmeasured.general_rate.kind = "datasheet";
  const Prediction h100 = predict_eq2(parse_convolution("fftconv_f16_circular_l1024_b2_h1_pregate_r32x32"), unmeasured);
  EXPECT_THAT(h100.notes, Contains(HasSubstr("datasheet peaks, so a lower bound: matrix rate, general rate")));
  EXPECT_THAT(h100.notes, Contains(HasSubstr("SRAM bandwidth derived: 128 bytes")));
  EXPECT_THAT(h100.notes, Contains(HasSubstr("pair fold")));
  EXPECT_THAT(h100.notes, Contains(HasSubstr("gates")));
}

TEST(Cost, RefusesWhatEq2DoesNotDescribe) {
  EXPECT_THROW(predict_eq2(parse_convolution("fftconv_f16_circular_l1024_b1_h1"), a100()), std::invalid_argument);
  EXPECT_THROW(predict_eq2(parse_convolution("fftconv_f16_causal_l4096_k9_b1_h1_n1024_pair_r32x32"), a100()),
               std::invalid_argument);
  EXPECT_THROW(predict_eq2(parse_convolution("fftconv_f32_circular_l1024_b1_h1_r32x32"), a100()),
               std::invalid_argument);
  EXPECT_THROW(with_factors(parse_convolution("fftconv_f16_circular_l1024_b1_h1_r32x32"), a100(), 3),
               std::invalid_argument);
  EXPECT_THROW(with_factors(one_sequence(2), a100()), std::invalid_argument);
}

}  // namespace
}  // namespace danaus
