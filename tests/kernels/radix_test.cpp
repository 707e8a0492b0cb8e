// The small DFTs in registers, plain and weighted, are the sums that they stand for.
#include "kernels/tile/radix.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>

#include "kernels/device/halves.hpp"
#include "kernels/executor/executor.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus {
namespace {

using Complex = std::complex<double>;

u32 both_halves(double value) { return host::encode<Dtype::f16>(value) * 0x10001u; }
double lower_half(u32 word) { return host::decode<Dtype::f16>(static_cast<std::uint16_t>(word)); }

TEST(Radix, ConstantsRoundAsNumbersDo) {
  for (int degrees = 1; degrees <= 90; ++degrees)
    for (double sign : {1., -1.}) {
      const double value = sign * std::sin(std::numbers::pi * degrees / 180);
      EXPECT_EQ(constant(value), both_halves(value)) << value;
    }
  // Ties, to the even neighbour below and above; and up to the next power of two.
  for (double value : {1 + 0x1p-11, 1 + 3 * 0x1p-11, 2 - 0x1p-12})
    EXPECT_EQ(constant(value), both_halves(value)) << value;
}

template <typename>
class RadixOf : public testing::Test {};

template <int points>
struct OfPoints {
  static constexpr int kRadix = points;
};
using Cases = testing::Types<OfPoints<1>, OfPoints<2>, OfPoints<3>, OfPoints<4>, OfPoints<5>, OfPoints<6>, OfPoints<7>,
                             OfPoints<8>>;
TYPED_TEST_SUITE(RadixOf, Cases);

// Against sums in double. At most six roundings in a row, each of a partial sum of 2 r numbers below 1, err by 12 r u
// at worst; random signs leave a sixth of that.
TYPED_TEST(RadixOf, AgreesWithTheSums) {
  constexpr int r = TypeParam::kRadix;
  const double bound = 2 * unit_roundoff(Dtype::f16) * r;
  const auto root = [](double turns) { return std::polar(1., 2 * std::numbers::pi * turns); };
  const auto weight = [&](int n) { return root(n / (4. * r)); };
  std::mt19937 random(r);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int trial = 0; trial < 100; ++trial) {
    Complex x[r];
    Complex2 words[r];
    u32 samples[r];
    for (int n = 0; n < r; ++n) {
      words[n] = {both_halves(uniform(random)), both_halves(uniform(random))};
      x[n] = {lower_half(words[n].re), lower_half(words[n].im)};
      samples[n] = words[n].re;
    }
    Complex2 there[r], back[r], weighted[r];
    u32 real[r], imaginary = 0;
    host::Executor().run({.threads = 1}, [&] {
      for (int n = 0; n < r; ++n) there[n] = back[n] = words[n];
      radix_dft<r, false>(there);
      radix_dft<r, true>(back);
      weighted_dft<r>(samples, weighted);
      add_imaginary_first(words[0].im, weighted);
      weighted_dft_back<r>(words, real);
      imaginary = imaginary_first(words);
    });
    const auto value = [](Complex2 z) { return Complex(lower_half(z.re), lower_half(z.im)); };
    for (int k = 0; k < r; ++k) {
      Complex forward = 0, inverse = 0, of_samples = 0;
      for (int n = 0; n < r; ++n) {
        forward += x[n] * root(-double(n * k) / r);
        inverse += x[n] * root(double(n * k) / r);
        of_samples += (n == 0 ? x[n] : x[n].real()) * weight(n) * root(-double(n * k) / r);
      }
      EXPECT_LT(std::abs(value(there[k]) - forward), bound);
      EXPECT_LT(std::abs(value(back[k]) - inverse), bound);
      EXPECT_LT(std::abs(value(weighted[k]) - of_samples), bound);
      const Complex unweighted = inverse * std::conj(weight(k));
      EXPECT_NEAR(lower_half(real[k]), unweighted.real(), bound);
      if (k == 0) {
        EXPECT_NEAR(lower_half(imaginary), unweighted.imag(), bound);
      }
    }
  }
}

}  // namespace
}  // namespace danaus
