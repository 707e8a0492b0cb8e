#include "reference/convolution/gradient.hpp"

#include <gtest/gtest.h>

#include "reference/convolution/convolve.hpp"

namespace danaus {
namespace {

std::vector<double> other_samples(const Convolution& problem) {
  DataSpec other;
  other.seed = 1;
  return make_inputs(problem, other).u;
}

// y is linear in each of its arrays, so a central difference of any step is exact up to rounding.
double slope(const Convolution& problem, const Inputs& inputs, std::vector<double> Inputs::*array, std::size_t index,
             const std::vector<double>& dy) {
  const auto loss = [&](double step) {
    Inputs moved = inputs;
    (moved.*array)[index] += step;
    const std::vector<double> y = convolve(problem, moved, Algorithm::direct);
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * dy[i];
    return sum;
  };
  return (loss(0.5) - loss(-0.5)) / 1.0;
}

class FiniteDifferences : public testing::TestWithParam<const char*> {};

TEST_P(FiniteDifferences, Agree) {
  const Convolution problem = parse_convolution(GetParam());
  const Inputs inputs = make_inputs(problem, {});
  const std::vector<double> dy = other_samples(problem);
  const Gradients result = gradients(problem, inputs, dy);

  const auto check = [&](const char* what, std::vector<double> Inputs::*array, const std::vector<double>& gradient) {
    ASSERT_EQ(gradient.size(), (inputs.*array).size()) << what;
    for (std::size_t i = 0; i < gradient.size(); ++i)
      ASSERT_NEAR(gradient[i], slope(problem, inputs, array, i, dy), 1e-12) << what << " at " << i;
  };
  check("u", &Inputs::u, result.du);
  check("k", &Inputs::k, result.dk);
  check("pregate", &Inputs::pregate, result.dpregate);
  check("postgate", &Inputs::postgate, result.dpostgate);
}

INSTANTIATE_TEST_SUITE_P(Cases, FiniteDifferences,
                         testing::Values("fftconv_f64_causal_l12_b3_h2",                         //
                                         "fftconv_f64_circular_l12_b3_h2",                       //
                                         "fftconv_f64_causal_l13_k5_b2_h2_pregate_postgate",     //
                                         "fftconv_f64_circular_l13_k5_b2_h2_pregate_postgate",   //
                                         "fftconv_f64_causal_l7_k11_b2_h1_pregate",              //
                                         "fftconv_f64_circular_l7_k17_b2_h1_postgate",           //
                                         "fftconv_f64_causal_l1_k3_b1_h1",                       //
                                         "fftconv_f64_circular_l12_k4_b2_h1_n15_pair",           //
                                         "fftconv_f64_circular_l12_b2_h1_r3x4_zero1x1_pregate",  //
                                         "fftconv_f64_circular_l12_b2_h1_r3x4_zero2x1literal",   //
                                         "fftconv_f64_causal_l12_k4_b2_h1_n15_pair_r3x5_zero2x1_postgate",
                                         "fftconv_f64_circular_l7_k9_b2_h1_n15_pair_r3x5_zero2x1literal"),
                         [](const auto& info) { return std::string(info.param); });

class TwoWays : public testing::TestWithParam<const char*> {};

TEST_P(TwoWays, Agree) {
  const Convolution problem = parse_convolution(GetParam());
  const Inputs inputs = make_inputs(problem, {});
  const std::vector<double> dy = other_samples(problem);
  const Gradients by_fft = gradients(problem, inputs, dy),
                  by_definition = gradients(problem, inputs, dy, Algorithm::direct);
  const auto check = [&](const char* what, std::vector<double> Gradients::*array) {
    ASSERT_EQ((by_fft.*array).size(), (by_definition.*array).size()) << what;
    for (std::size_t i = 0; i < (by_fft.*array).size(); ++i)
      ASSERT_NEAR((by_fft.*array)[i], (by_definition.*array)[i], 1e-11) << what << " at " << i;
  };
  check("du", &Gradients::du);
  check("dk", &Gradients::dk);
  check("dpregate", &Gradients::dpregate);
  check("dpostgate", &Gradients::dpostgate);
}

INSTANTIATE_TEST_SUITE_P(Cases, TwoWays,
                         testing::Values("fftconv_f64_causal_l500_b3_h2_pregate_postgate",
                                         "fftconv_f64_circular_l500_b3_h2_pregate_postgate",
                                         "fftconv_f64_causal_l301_k40_b2_h1_pregate",
                                         "fftconv_f64_circular_l301_k700_b2_h1_postgate",
                                         "fftconv_f64_causal_l90_k111_b2_h1", "fftconv_f64_circular_l1_k5_b1_h1"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Gradients, RefuseOtherMethodsAndMasksByDefinition) {
  const auto refused = [](const char* token, Algorithm method) {
    const Convolution problem = parse_convolution(token);
    const Inputs inputs = make_inputs(problem, {});
    EXPECT_THROW(gradients(problem, inputs, inputs.u, method), std::invalid_argument) << token;
  };
  refused("fftconv_f64_circular_l12_b1_h1_r3x4", Algorithm::monarch);
  refused("fftconv_f64_circular_l12_b1_h1_r3x4_zero1x1", Algorithm::direct);
}

TEST(Gradients, RefuseArraysOfOtherSizes) {
  const Convolution problem = parse_convolution("fftconv_f64_causal_l12_b1_h1");
  const Inputs inputs = make_inputs(problem, {});
  EXPECT_THROW(gradients(problem, inputs, std::vector<double>(11)), std::invalid_argument);
}

}  // namespace
}  // namespace danaus
