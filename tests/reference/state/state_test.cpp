// A state-space model's token, and its two references.
#include "reference/state/state.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/convolution/convolve.hpp"
#include "reference/judge.hpp"
#include "reference/state/recurrence.hpp"
#include "reference/truth.hpp"
#include "tests/reference/refused.hpp"

namespace danaus {
namespace {

TEST(StateTokens, GoThereAndBack) {
  for (const char* word : {"ssmconv_f16_s64_l65536_b64_h768", "ssmconv_bf16_s1_l1_b1_h1_t128_initial",
                           "ssmconv_f32_s256_l100_b2_h3_final", "ssmconv_f64_s3_l9_b2_h5_initial_final_unstable"}) {
    EXPECT_EQ(token(parse_state(word)), word);
    EXPECT_EQ(parse_case(word).token(), word);
  }
}

TEST(StateTokens, SayWhatIsWrong) {
  EXPECT_EQ(refused("ssmconv_f16_s257_l8_b1_h1"), "ssmconv: S=257, must be from 1 to 256");
  EXPECT_EQ(refused("ssmconv_f16_s0_l8_b1_h1"), "ssmconv: S=0, must be from 1 to 256");
  EXPECT_EQ(refused("ssmconv_f16_s4_l0_b1_h1"), "ssmconv: L=0, must be from 1 to 70368744177664");
  EXPECT_EQ(refused("ssmconv_f16_s4_l8_b1_h1_t0"), "ssmconv: chunk=0, must be from 1 to 1048576");
  EXPECT_NE(refused("ssmconv_f16_s4_l8_b1_h1_causal").find("unknown field 'causal'"), std::string::npos);
  EXPECT_NE(refused("ssmconv_f16_l8_b1_h1").find("field 's' is missing"), std::string::npos);
}

TEST(StatePoles, StayWithinTheUnitCircle) {
  StateSpace p = parse_state("ssmconv_f16_s2_l8_b1_h1");
  std::vector<float> a = {0.6f, 0.8f, 0, -1};
  EXPECT_NO_THROW(check_poles(p, a));
  a[3] = -1.0001f;
  EXPECT_THROW(check_poles(p, a), std::invalid_argument);
  p.unstable = true;
  EXPECT_NO_THROW(check_poles(p, a));
  a[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(check_poles(p, a), std::invalid_argument);
  a.pop_back();
  EXPECT_THROW(check_poles(p, a), std::invalid_argument);
}

TEST(StateReferences, Agree) {
  for (const char* word : {"ssmconv_f64_s5_l40_b2_h3_initial_final", "ssmconv_f64_s1_l1_b1_h1_initial_final",
                           "ssmconv_f64_s16_l100_b1_h2", "ssmconv_f64_s4_l33_b2_h1_final"})
    for (Poles poles : {Poles::any, Poles::slow, Poles::unit}) {
      const StateSpace p = parse_state(word);
      const StateInputs inputs = make_inputs(p, poles);
      const StateOutputs one = by_recurrence(p, inputs), other = by_sum(p, inputs);
      EXPECT_LT(compare(one.y, other.y).rel_l2, 1e-12) << word;
      ASSERT_EQ(one.x_final.size(), other.x_final.size());
      if (p.final) {
        EXPECT_LT(compare(one.x_final, other.x_final).rel_l2, 1e-12) << word;
      }
    }
}

TEST(StateReferences, AreTheConvolutionByTheFilter) {
  const StateSpace p = parse_state("ssmconv_f64_s6_l50_b2_h3");
  const StateInputs inputs = make_inputs(p);
  const Convolution long_one = parse_convolution("fftconv_f64_causal_l50_b2_h3");
  const std::vector<double> y = convolve(long_one, {inputs.u, filter_of(p, inputs), {}, {}}, Algorithm::direct);
  EXPECT_LT(compare(y, by_recurrence(p, inputs).y).rel_l2, 1e-13);
}

// White noise makes of a state what state_sizes() says, and what is summed is the norm of y where states do not cancel.
TEST(StateReferences, KnowTheSizesOfStates) {
  const StateSpace p = parse_state("ssmconv_f64_s8_l400_b400_h1_final");
  const StateInputs inputs = make_inputs(p);
  const StateOutputs outputs = by_recurrence(p, inputs);
  const std::vector<double> sizes = state_sizes(p, inputs);
  for (int s = 0; s < p.states; ++s) {
    double square = 0;
    for (int b = 0; b < p.batch; ++b)
      for (int part = 0; part < 2; ++part) square += std::pow(outputs.x_final[2 * (b * p.states + s) + part], 2);
    EXPECT_NEAR(std::sqrt(square / static_cast<double>(p.batch)) / sizes[s], 1, 0.15);
  }
  double square = 0;
  for (double y : outputs.y) square += y * y;
  const double summed = judge_of(p)->terms(values_of(inputs), {}).front().summed_to_all();
  EXPECT_GT(summed, 0.8 * std::sqrt(square));
  EXPECT_LT(summed, 2 * std::sqrt(square));
}

TEST(StateReferences, AreTheTruthOfTheirOperation) {
  const Case asked = parse_case("ssmconv_f16_s5_l24_b2_h3_initial_final");
  const Values values = make_values(asked), results = truth(asked, values);
  const StateInputs inputs{values.at("u"), values.at("a"), values.at("b"), values.at("c"), values.at("x_initial")};
  const StateOutputs expected = by_sum(*asked.as<StateSpace>(), inputs);
  EXPECT_LT(compare(expected.y, results.at("y")).rel_l2, 1e-13);
  EXPECT_LT(compare(expected.x_final, results.at("x_final")).rel_l2, 1e-13);
}

TEST(StateReferences, RefuseAStateOfAnotherSize) {
  const StateSpace p = parse_state("ssmconv_f64_s2_l8_b1_h1_initial");
  StateInputs inputs = make_inputs(p);
  inputs.x_initial.pop_back();
  EXPECT_THROW(by_recurrence(p, inputs), std::invalid_argument);
  EXPECT_THROW(by_sum(p, inputs), std::invalid_argument);
}

}  // namespace
}  // namespace danaus
