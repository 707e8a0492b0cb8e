// Bounds of gradients: what a pass loses when it is rounded is inside, what is wrong is not.
#include "reference/judge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace danaus {
namespace {

constexpr int kRoundings = 30;

struct Passes {
  explicit Passes(const char* token)
      : values(make_values(parse_case(token))), outputs(truth(parse_case(token), values)) {
    const auto judge = judge_of(parse_case(token));
    terms = judge->terms(values, {.roundings = {kRoundings, kRoundings, kRoundings}});
    product = *judge->product(values);
  }
  Values values, outputs;
  std::vector<OutputTerms> terms;
  AdjointProduct product;
};

const char* const kTokens[] = {
    "fftconvstep_f16_causal_l300_k40_b3_h2_pregate_postgate", "fftconvstep_bf16_circular_l256_b4_h3",
    "fftconvstep_f16_circular_l100_k250_b2_h2_postgate", "fftconvstep_f16_causal_l128_k500_b2_h2_pregate"};

// Of white data no more cancels than the lags that a causal filter's last taps do not see.
TEST(GradientBounds, KnowTheSizeOfEveryOutput) {
  for (const char* token : kTokens) {
    const Passes passes(token);
    EXPECT_EQ(passes.terms.size(), passes.outputs.size());
    for (const OutputTerms& of : passes.terms) {
      double square = 0;
      for (double value : passes.outputs.at(std::string(of.name))) square += value * value;
      EXPECT_NEAR(of.summed_to_all() / std::sqrt(square), 1.25, 0.45) << token << ' ' << of.name;
      EXPECT_GT(of.bound(), 1e-3);
      EXPECT_LT(of.bound(), 2e-2);
    }
  }
}

TEST(GradientBounds, ProductsWithTheInputsAreThatOfYWithDy) {
  for (const char* token : kTokens) {
    const Passes passes(token);
    const auto errors = adjoint_errors(passes.values, passes.outputs, passes.product, passes.terms);
    EXPECT_EQ(errors.size(), passes.outputs.size());
    for (const AdjointError& each : errors) {
      EXPECT_LE(std::abs(each.error), 1e-12 * std::abs(passes.product.whole) + 1e-10) << token << ' ' << each.output;
      EXPECT_GT(each.bound, 0);
    }
  }
}

TEST(GradientBounds, ProductsSeeAGradientOfSomethingElse) {
  for (const char* token : kTokens) {
    Passes passes(token);
    for (auto& [name, values] : passes.outputs) std::ranges::reverse(values);  // as by the spectrum itself
    for (const AdjointError& each : adjoint_errors(passes.values, passes.outputs, passes.product, passes.terms))
      EXPECT_GT(std::abs(each.error), each.bound) << token << ' ' << each.output;
  }
}

}  // namespace
}  // namespace danaus
