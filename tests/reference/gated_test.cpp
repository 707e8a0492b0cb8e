// Gated convolutions: tokens, the definition, and what the judge passes and refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reference/convolution/convolve.hpp"
#include "reference/gated/filtered.hpp"
#include "reference/half.hpp"
#include "reference/judge.hpp"
#include "tests/reference/refused.hpp"

namespace danaus {
namespace {

using testing::DoubleNear;
using testing::Pointwise;

TEST(GatedConvolutions, HaveTokens) {
  for (const char* word : {"gatedconv_bf16_causal_l1024_b64_h768_pregate_postgate_taps3_bias_skip",
                           "gatedconv_f16_circular_l100_k7_kf16_b2_h3_skip", "gatedconv_f32_causal_l9_b1_h1_taps8"})
    EXPECT_EQ(parse_case(word).token(), word);
}

TEST(GatedConvolutions, SayWhatIsWrong) {
  EXPECT_EQ(refused("gatedconv_f16_causal_l8_b1_h1_taps9"),
            "gatedconv: taps=9, must be from 2 to 8; longer ones are those of shortconv");
  EXPECT_EQ(refused("gatedconv_f16_causal_l8_b1_h1_taps1"), "gatedconv: taps=1, must be from 2 to 8");
  EXPECT_EQ(refused("gatedconv_f16_causal_l8_b1_h1_bias"),
            "gatedconv: a bias without taps, whose convolution it is added to");
  EXPECT_NE(refused("gatedconv_f16_causal_l8_b1_h1_n16").find("the plan chooses N, fold and factors"),
            std::string::npos);
}

// Step by step: short filters, gates, the long filter, the skip.
TEST(GatedConvolutions, FollowTheirDefinition) {
  for (const char* word :
       {"gatedconv_f64_causal_l12_k5_b2_h3_pregate_postgate_taps3_bias_skip", "gatedconv_f64_circular_l12_b2_h3_taps8",
        "gatedconv_f64_circular_l12_k30_b1_h2_postgate_taps2_skip", "gatedconv_f64_causal_l1_b1_h1_pregate_taps4"}) {
    const Case asked = parse_case(word);
    const auto& p = *asked.as<GatedConvolution>();
    const Values values = make_values(asked, 3);
    const std::int64_t length = p.conv.length, taps = p.conv.filter_length, channels = p.conv.channels;
    std::vector<double> expected;
    for (std::int64_t row = 0; row < p.conv.batch * channels; ++row) {
      const std::int64_t h = row % channels;
      std::int64_t part = 0;
      const auto filtered_part = [&](const char* name) {
        std::vector<double> x(length, 1);
        if (!values.contains(name)) return x;
        for (std::int64_t n = 0; n < length; ++n) {
          x[n] = p.bias ? values.at("bias")[part * channels + h] : 0;
          for (std::int64_t t = 0; t < p.taps && t <= n; ++t)
            x[n] += values.at("taps")[(part * channels + h) * p.taps + t] * values.at(name)[row * length + n - t];
        }
        ++part;
        return x;
      };
      std::vector<double> x = filtered_part("u");
      const std::vector<double> pregate = filtered_part("pregate"), postgate = filtered_part("postgate");
      for (std::int64_t n = 0; n < length; ++n) x[n] *= pregate[n];
      for (std::int64_t n = 0; n < length; ++n) {
        double y = p.skip ? values.at("skip")[h] * x[n] : 0;
        for (std::int64_t m = 0; m < taps; ++m) {
          const std::int64_t from = n - m;
          if (from >= 0 || p.conv.mode == Mode::circular)
            y += values.at("k")[h * taps + m] * x[((from % length) + length) % length];
        }
        expected.push_back(postgate[n] * y);
      }
    }
    EXPECT_THAT(truth(asked, values).at("y"), Pointwise(DoubleNear(1e-12), expected)) << word;
  }
}

// Roundings of each part to 16 bits pass. A tap that is off by 1 %, forgotten or of the next channel does not; nor does
// a short filter that wraps around a circular row.
TEST(GatedConvolutions, AreJudgedRowByRow) {
  const Case asked = parse_case("gatedconv_f16_circular_l64_b2_h3_pregate_postgate_taps3_skip");
  const auto& p = *asked.as<GatedConvolution>();
  const Values values = make_values(asked);
  Promise promise;
  promise.roundings.forward = 12;
  const auto passes = [&](const Inputs& inputs) {
    std::vector<double> y = convolve(p.conv, inputs, Algorithm::fftw);
    for (double& value : y) value = round_to(Dtype::f16, value);
    return verdict_on(asked, values, {{"y", y}}, promise).passed();
  };
  Inputs rounded = filtered(p, values);
  for (std::vector<double>* rows : {&rounded.u, &rounded.pregate, &rounded.postgate})
    for (double& value : *rows) value = round_to(Dtype::f16, value);
  EXPECT_TRUE(passes(rounded));
  for (const auto& [name, at] : {std::pair("taps", 0), {"taps", 8}, {"taps", 26}, {"skip", 1}}) {
    Values off = values;
    off.at(name)[at] += 0.05;
    EXPECT_FALSE(passes(filtered(p, off))) << name << ' ' << at;
  }
  Inputs wrapped = filtered(p, values);
  for (std::int64_t t = 1; t < 3; ++t) wrapped.u[0] += values.at("taps")[t] * values.at("u")[64 - t];
  EXPECT_FALSE(passes(wrapped));
}

}  // namespace
}  // namespace danaus
