#include "experiments/verify/spot_check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reference/convolution/convolve.hpp"

namespace danaus {
namespace {

struct Made {
  Convolution problem;
  Inputs inputs;
  std::vector<double> y;
};

Made made(const std::string& token) {
  Made made{parse_convolution(token), {}, {}};
  made.inputs = make_inputs(made.problem, {});
  made.y = convolve(made.problem, made.inputs, Algorithm::fftw);
  return made;
}

TEST(SpotCheck, AgreesWithARightResultInEveryMode) {
  for (const char* token : {
           "fftconv_f64_causal_l50_b2_h3",
           "fftconv_f64_causal_l50_k7_b2_h3_pregate_postgate",
           "fftconv_f64_causal_l50_k70_b2_h3",
           "fftconv_f64_circular_l50_b2_h3_pregate",
           "fftconv_f64_circular_l50_k120_b2_h3_postgate",
       }) {
    const Made c = made(token);
    const SpotCheck check = spot_check(c.problem, c.inputs, c.y);
    EXPECT_EQ(check.samples, 300);
    EXPECT_LT(check.in_double.rel_l2, 1e-14) << token;
    EXPECT_TRUE(check.plausible) << token;
  }
}

TEST(SpotCheck, SeesOneWrongSample) {
  Made c = made("fftconv_f64_causal_l50_b2_h3");
  c.y[123] += 1e-6;
  EXPECT_FALSE(spot_check(c.problem, c.inputs, c.y).plausible);
  c.y[123] = std::nan("");
  EXPECT_FALSE(spot_check(c.problem, c.inputs, c.y).plausible);
}

TEST(SpotCheck, SeesAShiftWhereItChecksOnlySomeSamples) {
  Made c = made("fftconv_f64_causal_l100000_b1_h1");
  const SpotCheck right = spot_check(c.problem, c.inputs, c.y);
  EXPECT_LT(right.samples, right.of);
  EXPECT_TRUE(right.plausible);
  EXPECT_LT(right.in_double.rel_l2, 1e-14);
  std::rotate(c.y.begin(), c.y.begin() + 1, c.y.end());
  EXPECT_FALSE(spot_check(c.problem, c.inputs, c.y).plausible);
}

TEST(SpotCheck, StatesWhatRoundingToTheTypeOfUCosts) {
  const Made c = made("fftconv_f16_causal_l500_b1_h1");
  const SpotCheck check = spot_check(c.problem, c.inputs, c.y);
  EXPECT_LT(check.in_double.rel_l2, 1e-14);
  EXPECT_GT(check.as_written.rel_l2, 0.1 * unit_roundoff(Dtype::f16));
  EXPECT_LT(check.as_written.rel_l2, unit_roundoff(Dtype::f16));
}

}  // namespace
}  // namespace danaus
