// What a layer's errors are relative to is the size of y where many numbers make it, and more where few do.
#include "reference/spectral/conditioning.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace danaus {
namespace {

double norm(const std::vector<double>& values) {
  double square = 0;
  for (double value : values) square += value * value;
  return std::sqrt(square);
}

double summed(const Spectral& p, const SpectralInputs& inputs) {
  return judge_of(p)->terms(values_of(inputs), {}).front().summed_to_all();
}

TEST(SpectralConditioning, IsTheSizeOfYForWhiteNoise) {
  for (const char* word : {"spectral_f32_b8_c16x24_l128_m40_shared", "spectral_f32_complex_b8_c20x16_l100_m30_twosided",
                           "spectral_f32_complex_b8_c16x20_l64_m64_shared_channelmajor",
                           "spectral_f32_b8_c24x16_l64_m33_adjoint", "spectral_f32_b4_c8x12_l32x48_m8x12_twosided"}) {
    const Spectral p = parse_spectral(word);
    const SpectralInputs inputs = make_inputs(p);
    EXPECT_NEAR(norm(layer_by_fftw(p, inputs)) / summed(p, inputs), 1, 0.1) << word;
  }
}

TEST(SpectralConditioning, StaysWhereTheKeptFrequencyHasNothing) {
  const Spectral p = parse_spectral("spectral_f32_b1_c1x1_l16_m1_shared");
  SpectralInputs inputs = make_inputs(p);
  for (std::size_t n = 0; n < inputs.u.size(); ++n) inputs.u[n] = n % 2 == 0 ? 1 : -1;
  EXPECT_LE(norm(layer_by_fftw(p, inputs)), 1e-14);
  EXPECT_NEAR(summed(p, inputs), std::hypot(inputs.w[0], inputs.w[1]), 1e-12);
}

}  // namespace
}  // namespace danaus
