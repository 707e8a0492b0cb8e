// Short convolutions: tokens, and the definition on cases that are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/judge.hpp"
#include "reference/short/direct.hpp"
#include "reference/short_backward/short_backward.hpp"
#include "tests/reference/refused.hpp"

namespace danaus {
namespace {

TEST(ShortConvolutions, HaveTokens) {
  for (const char* word : {"shortconv_bf16_causal_k64_l8192_b64_h768",
                           "shortconv_f16_same_k5_kf16_l7_b2_h3_bias_pregate_postgate_channelslast",
                           "shortconvgrad_bf16_same_k256_kbf16_l100_b1_h1_bias", "shortconv_f32_causal_k4_l8_b1_h1",
                           "shortconvgrad_f64_same_k3_l9_b2_h1_bias"})
    EXPECT_EQ(parse_case(word).token(), word);
  EXPECT_EQ(parse_case("shortconv_h3_b2_channelslast_l9_k4_causal_bf16").token(),
            "shortconv_bf16_causal_k4_l9_b2_h3_channelslast");
}

TEST(ShortConvolutions, SayWhatIsWrong) {
  EXPECT_EQ(refused("shortconv_bf16_causal_k0_l8_b1_h1"), "shortconv: K=0, must be from 2 to 256");
  EXPECT_EQ(refused("shortconv_bf16_causal_k1_l8_b1_h1"),
            "shortconv: K=1, must be from 2 to 256; one tap is a product, k[0] * u, which needs no convolution");
  EXPECT_EQ(refused("shortconv_bf16_causal_k257_l8_b1_h1"),
            "shortconv: K=257, must be from 2 to 256; longer filters are those of fftconv");
  EXPECT_EQ(
      refused("shortconv_bf16_anticausal_k4_l8_b1_h1"),
      "token shortconv_bf16_anticausal_k4_l8_b1_h1: field 'anticausal' has no kernel: the padding must be causal or "
      "same");
  EXPECT_EQ(refused("shortconv_f16_causal_k4_kbf16_l8_b1_h1"),
            "shortconv: the filter is bf16, of f16 samples it must be f32 or f16");
  EXPECT_EQ(refused("shortconv_f16_causal_k4_l0_b1_h1"), "shortconv: L=0, must be at least 1");
  EXPECT_EQ(refused("shortconv_f32_causal_k4_kf16_l8_b1_h1"),
            "shortconv: the filter is f16, of f32 samples it must be f32");
  EXPECT_NE(refused("shortconv_f16_k4_l8_b1_h1").find("field 'padding' is missing"), std::string::npos);
}

ShortConvolution small(Padding padding, std::int64_t taps) {
  ShortConvolution p;
  p.padding = padding, p.taps = taps, p.length = 6;
  return p;
}

TEST(ShortConvolutions, FollowTheirDefinition) {
  const std::vector<double> impulse = {0, 0, 1, 0, 0, 0}, k3 = {1, 2, 4}, k4 = {1, 2, 4, 8};
  EXPECT_EQ(short_convolution(small(Padding::causal, 3), {{"u", impulse}, {"k", k3}}),
            (std::vector<double>{0, 0, 1, 2, 4, 0}));
  // torch.nn.functional.conv1d(u, k flipped, padding="same") of an even filter pads once more on the right.
  EXPECT_EQ(short_convolution(small(Padding::same, 3), {{"u", impulse}, {"k", k3}}),
            (std::vector<double>{0, 1, 2, 4, 0, 0}));
  EXPECT_EQ(short_convolution(small(Padding::same, 4), {{"u", impulse}, {"k", k4}}),
            (std::vector<double>{1, 2, 4, 8, 0, 0}));
}

TEST(ShortConvolutions, WithChannelsLastAreTheSame) {
  ShortConvolution p = parse_short("shortconv_f16_same_k4_l5_b2_h3_bias_pregate_postgate"), last = p;
  last.channels_last = true;
  const Values values = make_inputs(p);
  Values transposed = values;
  const auto for_each = [&](auto visit) {
    for (int b = 0; b < 2; ++b)
      for (int h = 0; h < 3; ++h)
        for (int n = 0; n < 5; ++n) visit(index_of(p, b, h, n), index_of(last, b, h, n));
  };
  for (const char* name : {"u", "pregate", "postgate"})
    for_each([&](std::int64_t from, std::int64_t to) { transposed[name][to] = values.at(name)[from]; });
  const std::vector<double> y = short_convolution(p, values), of_last = short_convolution(last, transposed);
  for_each([&](std::int64_t from, std::int64_t to) { EXPECT_EQ(y[from], of_last[to]); });
}

// y is linear in each argument: a step of any size is exact to double.
TEST(ShortConvolutions, HaveTheGradientsOfDifferences) {
  for (const char* word : {"shortconvgrad_f16_causal_k3_l7_b2_h2_bias_pregate_postgate",
                           "shortconvgrad_f16_same_k4_l3_b1_h3_bias_pregate_postgate_channelslast"}) {
    const Case asked = parse_case(word);
    const ShortConvolution& p = asked.as<ShortBackward>()->forward;
    const Values values = make_values(asked), gradients = truth(asked, values);
    const auto loss = [&](const Values& at) {
      double sum = 0;
      const std::vector<double> y = short_convolution(p, at);
      for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * values.at("dy")[i];
      return sum;
    };
    for (const char* name : {"u", "k", "bias", "pregate", "postgate"})
      for (std::size_t i = 0; i < values.at(name).size(); ++i) {
        Values moved = values;
        moved[name][i] += 1;
        EXPECT_NEAR(loss(moved) - loss(values), gradients.at(text('d', name))[i], 1e-10) << word << ' ' << name << i;
      }
  }
}

// The bias's part of <y, dy> is its own; a gradient of something else shows.
TEST(ShortConvolutions, ProductsOfGradientsWithTheInputsAreThatOfYWithDy) {
  for (const char* word : {"shortconvgrad_f16_causal_k3_l50_b2_h9_bias_pregate_postgate",
                           "shortconvgrad_bf16_same_k8_l40_b3_h8_bias_channelslast"}) {
    const Case asked = parse_case(word);
    const Values values = make_values(asked), gradients = truth(asked, values);
    const auto judge = judge_of(asked);
    const std::vector<OutputTerms> terms = judge->terms(values, {.roundings = {.forward = 2}});
    const AdjointProduct product = *judge->product(values);
    const auto errors = adjoint_errors(values, gradients, product, terms);
    EXPECT_EQ(errors.size(), gradients.size());
    for (const AdjointError& each : errors) EXPECT_LT(std::abs(each.error), 1e-3 * each.bound) << word << each.output;
    Values reversed = gradients;
    for (auto& [name, of] : reversed) std::ranges::reverse(of);
    for (const AdjointError& each : adjoint_errors(values, reversed, product, terms))
      EXPECT_GT(std::abs(each.error), each.bound) << word << ' ' << each.output;
  }
}

TEST(ShortConvolutions, KnowWhatTheySum) {
  const ShortConvolution p = parse_short("shortconv_bf16_causal_k2_l2_b1_h1_bias_postgate");
  const Values values = {{"u", {3, 1}}, {"k", {1, -2}}, {"bias", {2}}, {"postgate", {1, 10}}};
  const OutputTerms y = judge_of(p)->terms(values, {}).front();
  EXPECT_DOUBLE_EQ(y.summed_to_all(), std::sqrt(4 + 9 + 100. * (4 + 1 + 36)));
}

// Gated samples, taps, and sums before a gate are rounded to f16 and multiplied. They err as if they were 2^-14 at
// least.
TEST(ShortConvolutions, KnowWhatF16Loses) {
  const auto summed = [&](const char* token, Values gates = {}) {
    gates.insert({{"u", {0x1p-20, 0}}, {"k", {0x1p-8, 0}}});
    return judge_of(parse_case(token))->terms(gates, {}).front().summed_to_all();
  };
  constexpr double kLost = 0x1p-28;
  EXPECT_DOUBLE_EQ(summed("shortconv_f16_causal_k2_kf16_l2_b1_h1"), 0x1p-28);
  EXPECT_DOUBLE_EQ(summed("shortconv_f16_causal_k2_kf16_l2_b1_h1_postgate", {{"postgate", {8, 1}}}),
                   8 * std::sqrt(0x1p-56 + kLost));
  EXPECT_DOUBLE_EQ(summed("shortconv_f16_causal_k2_kf16_l2_b1_h1_pregate", {{"pregate", {1, 4}}}),
                   std::sqrt(0x1p-16 * (0x1p-40 + kLost)));
  EXPECT_DOUBLE_EQ(summed("shortconv_f16_causal_k2_l2_b1_h1"), std::sqrt((0x1p-16 + kLost) * 0x1p-40));
}

}  // namespace
}  // namespace danaus
