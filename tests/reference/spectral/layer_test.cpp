// The two references of a spectral layer, and the rounding model.
#include "reference/spectral/layer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "reference/compare.hpp"
#include "reference/dft.hpp"
#include "reference/truth.hpp"

namespace danaus {
namespace {

class SpectralLayers : public testing::TestWithParam<const char*> {};

TEST_P(SpectralLayers, MatricesAndFftwAgree) {
  const Spectral p = parse_spectral(GetParam());
  const SpectralInputs inputs = make_inputs(p);
  EXPECT_LT(compare(layer_by_fftw(p, inputs), layer_by_matrices(p, inputs)).rel_l2, 1e-13);
}

INSTANTIATE_TEST_SUITE_P(
    Spectral, SpectralLayers,
    testing::Values("spectral_f64_complex_b2_c3x4_l24_m5", "spectral_f64_complex_b2_c3x2_l17_m17_shared",
                    "spectral_f64_complex_b1_c1x3_l16_m8_twosided", "spectral_f64_b2_c3x4_l24_m13",
                    "spectral_f64_b3_c2x2_l17_m9_shared_channelmajor", "spectral_f64_b2_c2x3_l16_m1",
                    "spectral_f64_complex_b2_c2x3_l12x9_m5x3", "spectral_f64_complex_b2_c2x3_l12x10_m6x5_twosided",
                    "spectral_f64_b2_c2x3_l12x9_m4x5_twosided_channelmajor", "spectral_f64_b2_c2x3_l9x16_m5x9"),
    [](const auto& info) { return std::string(info.param); });

// One kept frequency passes, by its weight; the one above is cut off.
TEST(SpectralLayer, KeepsTheFrequenciesBelowAndNoOther) {
  const Spectral p = parse_spectral("spectral_f64_complex_b1_c1x1_l20_m4");
  SpectralInputs inputs{std::vector<double>(40), std::vector<double>(8)};
  for (int k = 0; k < 4; ++k) inputs.w[2 * k] = k, inputs.w[2 * k + 1] = -1;
  for (int frequency : {3, 4, 19}) {
    for (int n = 0; n < 20; ++n) {
      const Complex wave = root_of_unity(-frequency * n, 20);
      inputs.u[2 * n] = wave.real(), inputs.u[2 * n + 1] = wave.imag();
    }
    const std::vector<double> y = layer_by_matrices(p, inputs);
    for (int n = 0; n < 20; ++n) {
      const Complex expected = frequency == 3 ? Complex(3, -1) * Complex(inputs.u[2 * n], inputs.u[2 * n + 1]) : 0;
      EXPECT_NEAR(y[2 * n], expected.real(), 1e-13);
      EXPECT_NEAR(y[2 * n + 1], expected.imag(), 1e-13);
    }
  }
}

// A real wave is both of its frequencies, and what it becomes is real; at 0 and X/2 the imaginary part of a weight has
// no effect.
TEST(SpectralLayer, OfRealSamplesIsHermitian) {
  const Spectral p = parse_spectral("spectral_f64_b1_c1x1_l20_m11");
  SpectralInputs inputs{std::vector<double>(20), std::vector<double>(22)};
  for (int k = 0; k <= 10; ++k) inputs.w[2 * k] = 2, inputs.w[2 * k + 1] = 1;
  for (int frequency : {0, 3, 10}) {
    for (int n = 0; n < 20; ++n) inputs.u[n] = std::cos(2 * M_PI * frequency * n / 20);
    const std::vector<double> y = layer_by_matrices(p, inputs);
    for (int n = 0; n < 20; ++n) {
      const double phase = 2 * M_PI * frequency * n / 20;
      const double expected = 2 * std::cos(phase) - (frequency % 10 == 0 ? 0 : std::sin(phase));
      EXPECT_NEAR(y[n], expected, 1e-13) << frequency;
    }
  }
}

// <dy, L u> = <L* dy, u>, of complex samples the real part.
TEST(SpectralLayer, HasItsAdjoint) {
  for (const char* word :
       {"spectral_f64_complex_b2_c3x4_l24_m5", "spectral_f64_b2_c3x4_l24_m13_shared",
        "spectral_f64_complex_b2_c2x3_l12x10_m6x5_twosided", "spectral_f64_b2_c2x3_l9x16_m4x9_twosided_channelmajor"}) {
    const Spectral p = parse_spectral(word), back = adjoint_of(p);
    const SpectralInputs inputs = make_inputs(p);
    const SpectralInputs gradient = {make_inputs(back).u, inputs.w};
    const std::vector<double> y = layer_by_fftw(p, inputs);
    const auto dot = [](const std::vector<double>& a, const std::vector<double>& b) {
      return std::inner_product(a.begin(), a.end(), b.begin(), 0.);
    };
    for (const auto& du : {layer_by_fftw(back, gradient), layer_by_matrices(back, gradient)})
      EXPECT_NEAR(dot(gradient.u, y), dot(du, inputs.u), 1e-12 * dot(y, y)) << word;
    EXPECT_GT(std::abs(dot(gradient.u, y)), 1e-3 * std::sqrt(dot(y, y)));
    EXPECT_EQ(adjoint_of(back), p);
  }
}

// A layer is linear in its weights: <dy, L_v u> = <dw, v> for any other weights v.
TEST(SpectralLayer, HasAGradientOfItsWeights) {
  for (const char* word :
       {"spectral_f64_complex_b2_c3x4_l24_m5", "spectral_f64_b2_c3x4_l24_m13_shared",
        "spectral_f64_complex_b2_c2x3_l12x10_m6x5_twosided", "spectral_f64_b2_c2x3_l9x16_m4x9_twosided_channelmajor"}) {
    const Spectral p = parse_spectral(word);
    const SpectralInputs inputs = make_inputs(p);
    const std::vector<double> dy = make_inputs(adjoint_of(p)).u, y = layer_by_matrices(p, inputs);
    const std::vector<double> dw = gradient_of_weights(p, inputs.u, dy);
    const double expected = std::inner_product(dy.begin(), dy.end(), y.begin(), 0.);
    EXPECT_NEAR(std::inner_product(dw.begin(), dw.end(), inputs.w.begin(), 0.), expected, 1e-12 * std::abs(expected))
        << word;
  }
  const Spectral p = parse_spectral("spectral_f64_b1_c1x1_l16_m4");
  EXPECT_THROW(gradient_of_weights(adjoint_of(p), make_inputs(p).u, make_inputs(p).u), std::invalid_argument);
}

TEST(SpectralLayer, OfChannelMajorFieldsIsTheSame) {
  const Spectral p = parse_spectral("spectral_f64_b3_c2x4_l16_m5");
  Spectral major = p;
  major.channel_major = true;
  const SpectralInputs inputs = make_inputs(p);
  SpectralInputs swapped = inputs;
  for (int b = 0; b < 3; ++b)
    for (int c = 0; c < 2; ++c)
      for (int n = 0; n < 16; ++n) swapped.u[(c * 3 + b) * 16 + n] = inputs.u[(b * 2 + c) * 16 + n];
  const std::vector<double> y = layer_by_fftw(p, inputs), other = layer_by_fftw(major, swapped);
  for (int b = 0; b < 3; ++b)
    for (int c = 0; c < 4; ++c)
      for (int n = 0; n < 16; ++n) EXPECT_EQ(y[(b * 4 + c) * 16 + n], other[(c * 3 + b) * 16 + n]);
}

TEST(SpectralLayer, IsTheTruthOfItsOperation) {
  const Case asked = parse_case("spectral_f16_b2_c3x2_l24_m5");
  const Values values = make_values(asked);
  const std::vector<double> y = layer_by_matrices(*asked.as<Spectral>(), {values.at("u"), values.at("w")});
  EXPECT_LT(compare(y, truth(asked, values).at("y")).rel_l2, 1e-13);
}

TEST(SpectralLayer, RefusesArraysOfAnotherCase) {
  const Spectral p = parse_spectral("spectral_f64_b1_c1x1_l20_m4");
  SpectralInputs inputs = make_inputs(p);
  inputs.w.pop_back();
  EXPECT_THROW(layer_by_matrices(p, inputs), std::invalid_argument);
}

// The model stays below the bound, and not by so much that a coarser arithmetic would too.
TEST(SpectralRounding, TakesAShareOfItsBound) {
  for (const char* shape : {"_complex_b4_c16x16_l128_m64_shared", "_b4_c16x8_l96_m49", "_complex_b4_c1x1_l16_m1_shared",
                            "_b4_c8x8_l100_m10", "_b2_c8x8_l24x32_m8x9_twosided"})
    for (const char* type : {"f16", "bf16", "f32_tf32", "f32", "f64"}) {
      const Spectral p = parse_spectral(text("spectral_", type, shape));
      const SpectralInputs inputs = make_inputs(p);
      const double error = compare(layer_by_fftw(p, inputs), layer_rounded(p, inputs)).rel_l2, bound = bound_l2(p);
      SCOPED_TRACE(token(p));
      EXPECT_LT(error, 0.7 * bound);
      EXPECT_GT(error, 0.005 * bound);
    }
}

}  // namespace
}  // namespace danaus
