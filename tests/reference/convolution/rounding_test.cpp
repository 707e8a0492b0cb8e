#include "reference/convolution/rounding.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reference/compare.hpp"
#include "reference/convolution/convolve.hpp"
#include "reference/convolution/monarch.hpp"
#include "reference/half.hpp"

namespace danaus {
namespace {

// The model's error for a circular convolution of two Gaussian rows in the pair fold.
Comparison model_error(Dtype dtype, std::int64_t n, int order, double scale, Scaling scaling) {
  Convolution problem;
  problem.dtype = dtype;
  problem.batch = 2;
  problem.length = problem.filter_length = n;
  problem.factors = balanced_factors(n, order);
  DataSpec spec;
  spec.scale = scale;
  const Inputs inputs = make_inputs(problem, spec);
  return compare(convolve(problem, inputs, Algorithm::fftw), convolve_rounded(problem, inputs, scaling));
}

TEST(RoundingModel, ErrorIsTwoFifthsOfTheRandomWalkInHalfPrecision) {
  for (Dtype dtype : {Dtype::f16, Dtype::bf16})
    for (std::int64_t n : {256, 1024, 4096, 32768})
      for (int order = 2; order <= 5; ++order) {
        const double walk = unit_roundoff(dtype) * std::sqrt(8.0 * order - 1);
        const double ratio = model_error(dtype, n, order, 1, Scaling::unitary).rel_l2 / walk;
        EXPECT_GT(ratio, 0.25) << name(dtype) << " N=" << n << " p=" << order;
        EXPECT_LT(ratio, 0.5) << name(dtype) << " N=" << n << " p=" << order;
      }
}

// Orders as Fu et al. 2023 use them: 2 to 1K, 3 to 32K.
TEST(RoundingModel, HasTheRangeCliffOfFp16WhenOneSideTakesTheScale) {
  const double start = model_error(Dtype::f16, 256, 2, 0.02, Scaling::one_side).rel_l2;
  const double end = model_error(Dtype::f16, 32768, 3, 0.02, Scaling::one_side).rel_l2;
  EXPECT_NEAR(start, 6e-4, 2e-4);  // what the paper's kernels show on a GPU
  EXPECT_NEAR(end, 6e-3, 2e-3);
}

TEST(RoundingModel, HasNoCliffWithUnitaryFactors) {
  const double start = model_error(Dtype::f16, 256, 2, 0.02, Scaling::unitary).rel_l2;
  const double end = model_error(Dtype::f16, 32768, 3, 0.02, Scaling::unitary).rel_l2;
  EXPECT_LT(end, 1.5 * start);  // sqrt(23 / 15) = 1.24 from the third stage
}

TEST(RoundingModel, HasNoCliffInBf16EitherWay) {
  const double unitary = model_error(Dtype::bf16, 32768, 3, 0.02, Scaling::unitary).rel_l2;
  const double one_side = model_error(Dtype::bf16, 32768, 3, 0.02, Scaling::one_side).rel_l2;
  EXPECT_NEAR(one_side / unitary, 1, 0.2);
}

TEST(RoundingModel, RoundsEachNumberThatIsStored) {
  // By hand, N = 2 in one stage [[1, 1], [1, -1]] / 2 and a spectrum of 3:
  //   u = (2048, 3) -> (1025.5, 1022.5), stored (1026, 1022.5) -> times 3 (3078, 3067.5), stored (3078, 3068)
  //   -> sum and difference (6146, 10), stored (6144, 10); every tie goes to the even neighbour
  const Convolution problem = parse_convolution("fftconv_f16_circular_l2_b1_h1_n2_plain_r2");
  const Inputs inputs{.u = {2048, 3}, .k = {3, 0}, .pregate = {}, .postgate = {}};
  EXPECT_EQ(convolve_rounded(problem, inputs, Scaling::one_side), (std::vector<double>{6144, 10}));
}

TEST(RoundingModel, OverflowsAsFp16Does) {
  EXPECT_TRUE(model_error(Dtype::f16, 256, 2, 1e3, Scaling::unitary).finite);
  // A constant row: its whole energy, sqrt(N) times its value, meets in one frequency.
  Convolution problem = parse_convolution("fftconv_f16_circular_l4096_b1_h1");
  Inputs inputs{.u = std::vector<double>(4096, 2000.0), .k = std::vector<double>(4096), .pregate = {}, .postgate = {}};
  inputs.k[0] = 1;
  const std::vector<double> y = convolve_rounded(problem, inputs);
  EXPECT_FALSE(std::all_of(y.begin(), y.end(), [](double value) { return std::isfinite(value); }));
  problem.dtype = Dtype::bf16;
  EXPECT_LT(compare(inputs.u, convolve_rounded(problem, inputs)).rel_l2, bound_l2(Dtype::bf16, 2));
}

class WithinBound : public testing::TestWithParam<const char*> {};

TEST_P(WithinBound, ForEveryDtypeScalingAndKindOfData) {
  for (Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64})
    for (DataKind data :
         {DataKind::gaussian, DataKind::uniform, DataKind::impulse, DataKind::constant, DataKind::heavy_tailed})
      for (FilterKind filter : {FilterKind::random, FilterKind::s4d, FilterKind::hyena}) {
        Convolution problem = parse_convolution(GetParam());
        problem.dtype = dtype;
        DataSpec spec;
        spec.data = data;
        spec.filter = filter;
        const Inputs inputs = make_inputs(problem, spec);
        const std::vector<double> y = convolve_rounded(problem, inputs);
        const double bound = bound_l2(dtype, static_cast<int>(planned(problem).factors.size()));
        const Comparison comparison = compare(convolve(problem, inputs, Algorithm::fftw), y);
        const double gain = data == DataKind::constant ? bound : bound_gain(bound, std::ssize(y));
        EXPECT_TRUE(within(comparison, bound, bound_max(bound, std::ssize(y)), gain))
            << token(problem) << ' ' << name(data) << ' ' << name(filter) << ": " << comparison.rel_l2 / bound
            << " of the bound, gain " << comparison.gain_error;
        for (double value : y) ASSERT_EQ(value, round_to(dtype, value));
      }
}

INSTANTIATE_TEST_SUITE_P(Cases, WithinBound,
                         testing::Values("fftconv_f16_circular_l256_b3_h1_n256_pair_r16x16",            //
                                         "fftconv_f16_circular_l1024_b2_h1_n1024_half_r32x16",          //
                                         "fftconv_f16_causal_l4096_b1_h1_n4096_rightangle_r16x16x16",   //
                                         "fftconv_f16_causal_l4096_b1_h1_n4096_rightangle_r8x8x8x8",    //
                                         "fftconv_f16_causal_l2048_b2_h1_n4096_pair_r16x16x16",         //
                                         "fftconv_f16_causal_l1500_b1_h1_n1536_rightangle_r24x64",      //
                                         "fftconv_f16_causal_l1000_k100_b2_h1_pregate_postgate",        //
                                         "fftconv_f16_causal_l96_b2_h1_n96_rightangle_r96",             //
                                         "fftconv_f16_circular_l512_b2_h1_n512_pair_r8x8x8_zero4x4x0",  //
                                         "fftconv_f16_circular_l512_b2_h1_n512_pair_r8x8x8_zero4x2x1literal"),
                         [](const auto& info) { return std::string(info.param); });

TEST(RoundingModel, OneSideIsRightInEveryFoldWhenNothingIsRounded) {
  for (const char* text :
       {"fftconv_f64_circular_l60_b3_h1_n60_pair_r3x4x5", "fftconv_f64_circular_l60_b1_h1_n60_half_r5x6",
        "fftconv_f64_causal_l60_b1_h1_n60_rightangle_r3x4x5", "fftconv_f64_causal_l7_b1_h1_n7_rightangle_r7"}) {
    const Convolution problem = parse_convolution(text);
    const Inputs inputs = make_inputs(problem, {});
    const std::vector<double> expected = convolve(problem, inputs, Algorithm::direct);
    EXPECT_LT(compare(expected, convolve_rounded(problem, inputs, Scaling::one_side)).rel_l2, 1e-14) << text;
  }
}

TEST(Bound, IsARandomWalk) {
  EXPECT_DOUBLE_EQ(bound_l2(Dtype::f16, 2), bound_l2_of_roundings(Dtype::f16, 15));
  EXPECT_DOUBLE_EQ(bound_l2_of_roundings(Dtype::bf16, 16), 4 * 0x1p-8);
  EXPECT_DOUBLE_EQ(bound_max(1e-3, 1), 1e-3);
  EXPECT_GT(bound_max(1e-3, 1000), 4e-3);
  EXPECT_DOUBLE_EQ(bound_gain(1e-3, 1000000), 1e-3);
  EXPECT_DOUBLE_EQ(bound_gain(0.02, 10000), 0.0074);
  EXPECT_THROW(bound_l2(Dtype::f16, 0), std::invalid_argument);
}

}  // namespace
}  // namespace danaus
