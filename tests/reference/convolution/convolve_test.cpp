#include "reference/convolution/convolve.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "reference/compare.hpp"
#include "reference/convolution/mask.hpp"
#include "reference/convolution/monarch.hpp"
#include "reference/convolution/rounding.hpp"
#include "reference/dft.hpp"

namespace danaus {
namespace {

constexpr Algorithm kEveryMethod[] = {Algorithm::direct, Algorithm::fftw, Algorithm::monarch};

std::string readable(const testing::TestParamInfo<const char*>& info) { return info.param; }

class ThreeWays : public testing::TestWithParam<const char*> {};

TEST_P(ThreeWays, Agree) {
  const Convolution problem = parse_convolution(GetParam());
  ASSERT_EQ(token(problem), GetParam());
  const Inputs inputs = make_inputs(problem, {});
  const std::vector<double> direct = convolve(problem, inputs, Algorithm::direct);
  for (Algorithm method : {Algorithm::fftw, Algorithm::monarch}) {
    const Comparison comparison = compare(direct, convolve(problem, inputs, method));
    EXPECT_LT(comparison.rel_l2, bound_l2(Dtype::f64, 2)) << name(method) << ", worst at " << comparison.worst;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, ThreeWays,
                         testing::Values("fftconv_f64_circular_l1_b1_h1",       //
                                         "fftconv_f64_causal_l1_b1_h1",         //
                                         "fftconv_f64_circular_l1_k9_b2_h1",    // K > L at its extreme
                                         "fftconv_f64_causal_l1_k9_b2_h1",      //
                                         "fftconv_f64_circular_l64_b2_h3",      //
                                         "fftconv_f64_circular_l63_b3_h2",      // odd, and an odd last row
                                         "fftconv_f64_circular_l97_b1_h1",      // prime
                                         "fftconv_f64_causal_l97_b3_h1",        //
                                         "fftconv_f64_causal_l2003_b1_h1",      // prime and too large for a dense stage
                                         "fftconv_f64_circular_l2003_b2_h1",    //
                                         "fftconv_f64_circular_l60_k7_b2_h1",   // partial
                                         "fftconv_f64_causal_l60_k1_b2_h1",     //
                                         "fftconv_f64_circular_l60_k61_b2_h1",  // K > L
                                         "fftconv_f64_circular_l60_k200_b2_h1",  //
                                         "fftconv_f64_causal_l60_k200_b2_h1"),
                         readable);

INSTANTIATE_TEST_SUITE_P(Folds, ThreeWays,
                         testing::Values("fftconv_f64_circular_l60_b3_h1_plain",                //
                                         "fftconv_f64_circular_l60_b3_h1_half",                 //
                                         "fftconv_f64_circular_l2_b1_h1_half",                  //
                                         "fftconv_f64_circular_l2018_b1_h1_half",               // 2 * 1009
                                         "fftconv_f64_circular_l60_b3_h1_rightangle",           //
                                         "fftconv_f64_circular_l60_k77_b3_h1_rightangle",       //
                                         "fftconv_f64_circular_l60_k7_b3_h1_n66_pair",          // wraps a linear one
                                         "fftconv_f64_circular_l61_k100_b3_h1_n122_half",       //
                                         "fftconv_f64_circular_l60_k17_b3_h1_n71_rightangle",   //
                                         "fftconv_f64_causal_l60_b3_h1_plain",                  //
                                         "fftconv_f64_causal_l60_b3_h1_pair",                   //
                                         "fftconv_f64_causal_l61_k100_b3_h1_half",              //
                                         "fftconv_f64_causal_l61_k13_b3_h1_rightangle",         //
                                         "fftconv_f64_causal_l61_b3_h1_n64_rightangle_r4x4x4",  //
                                         "fftconv_f64_circular_l60_b2_h1_n60_pair_r3x4x5",      //
                                         "fftconv_f64_circular_l60_b2_h1_n60_half_r5x3x2",      //
                                         "fftconv_f64_causal_l32_b2_h1_n64_pair_r2x2x4x2x2"),
                         readable);

INSTANTIATE_TEST_SUITE_P(Gates, ThreeWays,
                         testing::Values("fftconv_f64_causal_l60_b3_h2_pregate",           //
                                         "fftconv_f64_circular_l60_k9_b3_h2_postgate",     //
                                         "fftconv_f64_causal_l60_b3_h2_pregate_postgate",  //
                                         "fftconv_f64_causal_l60_b3_h2_pregate_postgate_half"),
                         readable);

INSTANTIATE_TEST_SUITE_P(Masks, ThreeWays,
                         testing::Values("fftconv_f64_circular_l64_b3_h2_r4x4x4_zero2x1x1",               //
                                         "fftconv_f64_circular_l64_b3_h2_r4x4x4_zero2x1x1literal",        //
                                         "fftconv_f64_circular_l60_b3_h1_plain_r3x4x5_zero2x1x1",         //
                                         "fftconv_f64_circular_l60_b3_h1_plain_r3x4x5_zero2x1x1literal",  //
                                         "fftconv_f64_circular_l45_b2_h1_r5x9_zero4x1literal",            //
                                         "fftconv_f64_circular_l30_k9_b3_h1_n60_pair_r3x4x5_zero2x1x1",   //
                                         "fftconv_f64_causal_l30_b3_h1_n60_pair_r3x4x5_zero2x1x1",        //
                                         "fftconv_f64_causal_l30_k50_b3_h1_n60_pair_r3x4x5_zero2x1x1literal",
                                         "fftconv_f64_circular_l64_b3_h2_pregate_postgate_r8x8_zero4x4",
                                         "fftconv_f64_circular_l60_b3_h2_keep3to17",              //
                                         "fftconv_f64_causal_l30_b3_h1_n60_pair_keep0to9",        //
                                         "fftconv_f64_circular_l64_b3_h2_r4x4x4_blocks4x2x1hb7",  //
                                         "fftconv_f64_causal_l30_k50_b3_h1_n64_plain_r4x4x4_blocks1x2x4h7f"),
                         readable);

TEST(Convolution, IsWhatItsDefinitionSays) {
  Convolution problem = parse_convolution("fftconv_f16_causal_l4_k2_b1_h1");
  const Inputs inputs{.u = {1, 2, 3, 4}, .k = {10, 1}, .pregate = {}, .postgate = {}};
  for (Algorithm method : kEveryMethod) {
    const std::vector<double> y = convolve(problem, inputs, method);
    const std::vector<double> expected = {10, 21, 32, 43};
    for (int n = 0; n < 4; ++n) EXPECT_NEAR(y[n], expected[n], 1e-13) << name(method);
  }
  problem.mode = Mode::circular;
  for (Algorithm method : kEveryMethod) EXPECT_NEAR(convolve(problem, inputs, method)[0], 14, 1e-13) << name(method);
}

TEST(Convolution, GatesMultiplyBeforeAndAfter) {
  const Convolution problem = parse_convolution("fftconv_f16_causal_l2_b1_h1_pregate_postgate");
  const Inputs inputs{.u = {1, 2}, .k = {10, 1}, .pregate = {3, 5}, .postgate = {7, 11}};
  for (Algorithm method : kEveryMethod) {
    const std::vector<double> y = convolve(problem, inputs, method);
    EXPECT_NEAR(y[0], 7 * 30, 1e-12) << name(method);
    EXPECT_NEAR(y[1], 11 * (100 + 3), 1e-12) << name(method);
  }
}

TEST(Convolution, KeepsChannelsAndRowsApart) {
  const Convolution problem = parse_convolution("fftconv_f16_circular_l1_b2_h3");
  const Inputs inputs{.u = {1, 2, 3, 4, 5, 6}, .k = {1, 10, 100}, .pregate = {}, .postgate = {}};
  for (Algorithm method : kEveryMethod) {
    const std::vector<double> y = convolve(problem, inputs, method);
    const std::vector<double> expected = {1, 20, 300, 4, 50, 600};
    for (int i = 0; i < 6; ++i) EXPECT_NEAR(y[i], expected[i], 1e-12) << name(method);
  }
}

TEST(Convolution, OneSidedLiteralMaskHalvesTheAmplitude) {
  // zero2x0 of 4x4 keeps the frequencies below N/2; the real part of what is left of cos at frequency 3 is half of it.
  const Convolution problem = parse_convolution("fftconv_f64_circular_l16_b1_h1_r4x4_zero2x0literal");
  Inputs inputs;
  inputs.k.assign(16, 0.0);
  inputs.k[0] = 1;
  for (int n = 0; n < 16; ++n) inputs.u.push_back(root_of_unity(3 * n, 16).real());
  for (Algorithm method : kEveryMethod) {
    const std::vector<double> y = convolve(problem, inputs, method);
    for (int n = 0; n < 16; ++n) EXPECT_NEAR(y[n], inputs.u[n] / 2, 1e-14) << name(method);
  }
}

TEST(Convolution, GivesTheSameInEveryThread) {
  const Convolution problem = parse_convolution("fftconv_f64_causal_l900_b2_h2");
  const Inputs inputs = make_inputs(problem, {});
  for (Algorithm method : kEveryMethod) {
    std::vector<std::vector<double>> y(3);
    std::vector<std::thread> threads;
    for (auto& result : y) threads.emplace_back([&] { result = convolve(problem, inputs, method); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(y[0], y[1]);
    EXPECT_EQ(y[0], y[2]);
  }
}

TEST(Convolution, RefusesArraysOfOtherSizes) {
  const Convolution problem = parse_convolution("fftconv_f16_causal_l8_b1_h1_pregate");
  const Inputs good = make_inputs(problem, {});
  for (auto array : {&Inputs::u, &Inputs::k, &Inputs::pregate, &Inputs::postgate}) {
    Inputs wrong = good;
    (wrong.*array).push_back(0);
    for (Algorithm method : kEveryMethod) EXPECT_THROW(convolve(problem, wrong, method), std::invalid_argument);
  }
}

TEST(Planned, ChoosesWhatWasOpen) {
  const auto plan = [](const char* text) { return token(planned(parse_convolution(text))); };
  EXPECT_EQ(plan("fftconv_f16_circular_l4096_b1_h1"), "fftconv_f16_circular_l4096_b1_h1_n4096_pair_r64x64");
  EXPECT_EQ(plan("fftconv_f16_causal_l8192_b1_h1"), "fftconv_f16_causal_l8192_b1_h1_n8192_rightangle_r32x16x16");
  EXPECT_EQ(plan("fftconv_f16_causal_l1009_b1_h1"), "fftconv_f16_causal_l1009_b1_h1_n1024_rightangle_r32x32");
  EXPECT_EQ(plan("fftconv_f16_circular_l1009_b1_h1"), "fftconv_f16_circular_l1009_b1_h1_n2025_pair_r45x45");
  EXPECT_EQ(plan("fftconv_f16_causal_l1009_k9_b1_h1_n256"),
            "fftconv_f16_causal_l1009_k9_b1_h1_n1024_rightangle_r32x32");
  // What was said stays.
  EXPECT_EQ(plan("fftconv_f16_causal_l1009_b1_h1_n1009_rightangle"),
            "fftconv_f16_causal_l1009_b1_h1_n1009_rightangle_r1009");
  EXPECT_EQ(plan("fftconv_f16_circular_l16_b1_h1_half_r2x4"), "fftconv_f16_circular_l16_b1_h1_n16_half_r2x4");
}

}  // namespace
}  // namespace danaus
