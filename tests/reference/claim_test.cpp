// Verdicts by the class of arithmetic that is claimed, whatever computed the outputs.
#include "reference/claim.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "reference/half.hpp"

namespace danaus {
namespace {

// Every operation, with options, in types that round its outputs by much and by little.
constexpr const char* kClaimedTokens[] = {
    "fftconv_f16_causal_l200_k50_b3_h4",
    "fftconv_f32_circular_l200_b3_h4_pregate_postgate",
    "fftconvgrad_f16_causal_l100_k30_kf16_b3_h2_pregate_postgate",
    "fftconvstep_bf16_causal_l64_b2_h2",
    "shortconv_bf16_same_k4_l64_b2_h3_bias_channelslast",
    "shortconv_f32_causal_k9_l64_b2_h3",
    "shortconvgrad_f64_same_k4_l64_b2_h3_bias_pregate",
    "spectral_f32_tf32_b3_c2x3_l20x18_m3x4_twosided",
    "spectralgrad_f32_complex_b3_c2x3_l20_m3",
    "ssmconv_f32_s4_l100_b2_h3_initial_final",
};

class Claims : public testing::TestWithParam<const char*> {
 protected:
  Claims() : asked_(parse_case(GetParam())), inputs_(make_values(asked_)), truth_(danaus::truth(asked_, inputs_)) {
    for (const Array& array : asked_.arrays())
      if (array.role == Role::output)
        for (double value : truth_.at(std::string(array.name)))
          rounded_[std::string(array.name)].push_back(round_to(array.dtype, value));
  }
  double taken(const Values& outputs, Dtype inside) const {
    return claimed_verdict(asked_, inputs_, outputs, {inside}, &truth_).worst()->clearance;
  }

  Case asked_;
  Values inputs_, truth_, rounded_;
};

// Where R = 1 of a kernel leaves a rounded output a tenth of its bound at best, nothing is left of it here.
TEST_P(Claims, ForgiveTheRoundingOfOutputs) {
  for (const auto& claim : kClaims) EXPECT_LT(taken(rounded_, claim.value), 0.1) << claim.name;
}

TEST_P(Claims, SeeOneRowByItself) {
  for (const auto& [output, right] : rounded_) {
    Values outputs = rounded_;
    for (double& value : outputs[output]) value *= 1.1;
    EXPECT_GT(taken(outputs, Dtype::f16), 1) << output;
    outputs[output] = right;
    outputs[output].back() = std::nan("");
    EXPECT_FALSE(claimed_verdict(asked_, inputs_, outputs, {Dtype::bf16}, &truth_).passed()) << output;
    EXPECT_FALSE(claimed_verdict(asked_, inputs_, rounded_, {Dtype::bf16, 0, 2}, &outputs).passed()) << output;
  }
}

// Errors of fp32 pass as fp32 and as 16 bits, and are no rounding alone; those of fp16 are no fp32.
TEST_P(Claims, TellClassesApart) {
  std::mt19937_64 random;
  std::normal_distribution<double> gaussian;
  const auto judge = judge_of(asked_);
  for (const auto& [made, finer] : {std::pair(Dtype::f32, Dtype::f64), {Dtype::f16, Dtype::f32}}) {
    Values outputs = truth_;
    for (const OutputTerms& of : judge->terms(inputs_, {}))
      for (std::int64_t row = 0; row < of.order.rows(); ++row)
        for (std::int64_t n = 0; n < of.order.length; ++n)
          outputs.at(std::string(of.name))[of.order.first(row) + n * of.order.inner] +=
              0.6 * unit_roundoff(made) * of.summed[row] / std::sqrt(of.order.length) * gaussian(random);
    if (asked_.token().starts_with("ssmconv")) outputs["x_final"] = truth_.at("x_final");
    EXPECT_LT(taken(outputs, made), 1) << name(made);
    // Of outputs in 16 bits, one rounding is forgiven: it hides what is smaller.
    const bool shows = made == Dtype::f16 || bytes(asked_.arrays().front().dtype) > 4;
    if (shows) {
      EXPECT_GT(taken(outputs, finer), 1) << name(made);
    }
  }
}

TEST_P(Claims, OfTwoResultsAddUp) {
  const double one = claimed_bound({12, 100}, {Dtype::f32}), two = claimed_bound({12, 100}, {Dtype::f32, 0, 2});
  EXPECT_DOUBLE_EQ(two, 2 * one);
  EXPECT_LT(claimed_verdict(asked_, inputs_, rounded_, {Dtype::f64, 0, 2}, &rounded_).worst()->clearance, 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Operations, Claims, testing::ValuesIn(kClaimedTokens));

TEST(Claim, HasBoundsByTransformsAndSums) {
  EXPECT_DOUBLE_EQ(claimed_bound({16, 25}, {Dtype::f32}), 0x1p-24 * (8 * 4 + 5));
  EXPECT_DOUBLE_EQ(claimed_bound({16, 25}, {Dtype::bf16}), 0x1p-8 * 4 + 0x1p-24 * 5);
  EXPECT_DOUBLE_EQ(claimed_bound({16, 25}, {Dtype::f64}), 0x1p-53 * (3 * 16 * 4 + 5));
  EXPECT_DOUBLE_EQ(claimed_bound({16, 25}, {Dtype::f32, 9}), 0x1p-24 * (8 * 3 + 5));
  EXPECT_DOUBLE_EQ(claimed_bound({16, 25, 1000}, {Dtype::f32}), 0x1p-24 * std::hypot(37, 1000));
  const auto work = [](const char* token, const char* output) {
    const Case asked = parse_case(token);
    return judge_of(asked)->work(output, make_values(asked));
  };
  EXPECT_EQ(work("fftconv_f32_causal_l100_k29_b2_h1_pregate", "y").roundings, 4 * 7 + 4);
  EXPECT_EQ(work("fftconv_f32_causal_l100_k30_b2_h1", "y").roundings, 4 * 8 + 3);
  EXPECT_EQ(work("fftconvgrad_f32_circular_l64_k30_b2_h1", "dk").products, 128);
  EXPECT_EQ(work("shortconv_f32_causal_k9_l4_b1_h1", "y").products, 4);
  EXPECT_EQ(work("spectral_f32_b1_c2x3_l20x16_m3x4", "y").roundings, 4 * (5 + 4) + 3);
  EXPECT_GT(work("ssmconv_f32_s4_l100_b2_h3", "y").steps, 1);
}

// By transforms taps beyond the row leave noise, which is no error where nothing else is summed.
TEST(Claim, CountsTapsThatMeetNoSample) {
  for (const char* token : {"fftconv_f64_causal_l11_k13_b1_h2", "shortconv_f64_same_k9_l3_b1_h2_channelslast"}) {
    const Case asked = parse_case(token);
    Values inputs = make_values(asked);
    std::vector<double>& k = inputs.at("k");
    std::ranges::fill(k, 0);
    k[k.size() / 2 - 1] = k.back() = 1;
    Values outputs = truth(asked, inputs);
    EXPECT_THAT(outputs.at("y"), testing::Each(0));
    for (double& value : outputs.at("y")) value = 1e-16;
    EXPECT_TRUE(claimed_verdict(asked, inputs, outputs, {Dtype::f64}).passed()) << token;
    for (double& value : outputs.at("y")) value = 1e-10;
    EXPECT_FALSE(claimed_verdict(asked, inputs, outputs, {Dtype::f64}).passed()) << token;
  }
}

// An error over all rows hides it.
TEST(Claim, JudgesAQuietRowByItself) {
  const Case asked = parse_case("fftconv_f16_causal_l128_b2_h1");
  Values inputs = make_values(asked);
  for (int n = 128; n < 256; ++n) inputs.at("u")[n] = round_to(Dtype::f16, inputs.at("u")[n] / 1024);
  Values outputs = truth(asked, inputs);
  for (int n = 128; n < 256; ++n) outputs.at("y")[n] *= 1.05;
  const Verdict verdict = claimed_verdict(asked, inputs, outputs, {Dtype::f16});
  EXPECT_FALSE(verdict.passed());
  EXPECT_EQ(verdict.worst()->row.place, "b=1, h=0");
  EXPECT_LT(verdict.worst()->all.rel_l2, claimed_bound(judge_of(asked)->work("y", inputs), {Dtype::f16}));
}

// Beside one rounding to fp16, which a silent row has not.
TEST(Claim, HearsWhatShouldBeSilent) {
  const Case asked = parse_case("fftconv_f32_causal_l64_b2_h1");
  Values inputs = make_values(asked);
  std::fill(inputs.at("u").begin() + 64, inputs.at("u").end(), 0);
  Values outputs = truth(asked, inputs);
  EXPECT_TRUE(claimed_verdict(asked, inputs, outputs, {Dtype::bf16}).passed());
  outputs.at("y")[100] = 1e-12;
  EXPECT_FALSE(claimed_verdict(asked, inputs, outputs, {Dtype::bf16}).passed());
}

TEST(Claim, OfSomeOutputsIsThatOfThese) {
  const Case asked = parse_case("fftconvgrad_f32_causal_l64_b3_h4");
  const Values inputs = make_values(asked);
  const Verdict verdict = claimed_verdict(asked, inputs, {{"dk", truth(asked, inputs).at("dk")}}, {});
  ASSERT_EQ(verdict.outputs.size(), 1u);
  EXPECT_EQ(verdict.worst()->output, "dk");
  EXPECT_TRUE(verdict.passed());
  EXPECT_THROW(claimed_verdict(asked, inputs, truth(asked, inputs), {Dtype::f32, -1}), std::invalid_argument);
  EXPECT_THROW(claimed_verdict(asked, inputs, truth(asked, inputs), {Dtype::f32, 0, 0}), std::invalid_argument);
}

}  // namespace
}  // namespace danaus
