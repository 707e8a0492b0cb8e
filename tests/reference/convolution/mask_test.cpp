#include "reference/convolution/mask.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reference/convolution/terms.hpp"

namespace danaus {
namespace {

Convolution masked(std::vector<int> factors, std::vector<int> zeroed, MaskReading reading) {
  Convolution problem;
  problem.factors = std::move(factors);
  problem.length = problem.filter_length = 1;
  for (int factor : problem.factors) problem.length *= factor;
  problem.filter_length = problem.length;
  problem.mask.zeroed = std::move(zeroed), problem.mask.reading = reading;
  return problem;
}

TEST(Mask, LiteralReadingIsThePapersSlicesOfTheReshapedSpectrum) {
  // Reshaped to 5 x 4 x 3 (the last factor first), row-major: k = (i * 4 + j) * 3 + l.
  const std::vector<std::uint8_t> kept = kept_frequencies(masked({3, 4, 5}, {2, 1, 1}, MaskReading::literal));
  std::vector<std::uint8_t> expected(60, 1);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 4; ++j)
      for (int l = 0; l < 3; ++l)
        if (i >= 5 - 2 || j >= 4 - 1 || l >= 3 - 1) expected[(i * 4 + j) * 3 + l] = 0;
  EXPECT_EQ(kept, expected);
}

TEST(Mask, HermitianReadingIsItsOwnMirror) {
  for (const auto& zeroed : {std::vector<int>{2, 1, 1}, {4, 3, 2}, {0, 0, 0}, {0, 3, 0}}) {
    const Convolution problem = masked({3, 4, 5}, zeroed, MaskReading::hermitian);
    Convolution literal = problem;
    literal.mask.reading = MaskReading::literal;
    const std::vector<std::uint8_t> kept = kept_frequencies(problem), sliced = kept_frequencies(literal);
    for (int k = 0; k < 60; ++k) {
      EXPECT_EQ(kept[k], kept[(60 - k) % 60]);
      EXPECT_EQ(kept[k], sliced[k] || sliced[(60 - k) % 60]);
    }
  }
}

TEST(Mask, SparsityIsTableTen) {
  // Fu et al. 2023, Table 10 for 32 x 32 x 32 x 64 in percent, as printed.
  const std::vector<std::pair<std::vector<int>, int>> table = {{{0, 0, 0, 0}, 0},    {{16, 0, 0, 0}, 50},
                                                               {{16, 16, 0, 0}, 75}, {{16, 16, 4, 4}, 79},
                                                               {{16, 16, 8, 8}, 84}, {{16, 16, 16, 16}, 91}};
  for (const auto& [zeroed, percent] : table) {
    const double s = sparsity(masked({64, 32, 32, 32}, zeroed, MaskReading::literal));
    EXPECT_EQ(std::lround(100 * s), percent);
    const double kept = (32.0 - zeroed[0]) * (32 - zeroed[1]) * (32 - zeroed[2]) * (64 - zeroed[3]);
    EXPECT_DOUBLE_EQ(s, 1 - kept / (32.0 * 32 * 32 * 64));
  }
}

TEST(Mask, WithoutOneEverythingIsKept) {
  const Convolution problem = parse_convolution("fftconv_f16_causal_l12_b1_h1_r3x4");
  EXPECT_EQ(kept_frequencies(problem), std::vector<std::uint8_t>(12, 1));
  EXPECT_EQ(sparsity(problem), 0);
  EXPECT_TRUE(real_mask_weights(problem).empty());
}

TEST(Mask, WeightsOfARealFilterAreTheMeanOfMirrors) {
  const Convolution literal = masked({4, 4}, {2, 0}, MaskReading::literal);  // keeps 0 .. 7
  EXPECT_EQ(real_mask_weights(literal), (std::vector<double>{1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0}));
  const Convolution hermitian = masked({4, 4}, {2, 0}, MaskReading::hermitian);
  EXPECT_EQ(real_mask_weights(hermitian), (std::vector<double>{1, 1, 1, 1, 1, 1, 1, 1, 0}));
}

TEST(Mask, BandsKeepTheirMirrors) {
  const std::vector<std::uint8_t> kept =
      kept_frequencies(parse_convolution("fftconv_f16_circular_l12_b2_h1_keep0to1+4to4"));
  EXPECT_EQ(kept, (std::vector<std::uint8_t>{1, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1}));
  const Convolution high = parse_convolution("fftconv_f16_circular_l12_b2_h1_keep5to6");
  EXPECT_EQ(kept_frequencies(high), (std::vector<std::uint8_t>{0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0}));
  EXPECT_DOUBLE_EQ(sparsity(high), 0.75);
}

TEST(Mask, ARemovedBlockTakesItsMirrorImageWithIt) {
  // Reshaped to 4 x 6 (k = 6 i + j), in 2 x 3 blocks of 2 x 2; the third block, i < 2 and j >= 4, is removed: the
  // frequencies 4, 5, 10, 11 and with them 20, 19, 14, 13.
  const Convolution problem = parse_convolution("fftconv_f16_circular_l24_b2_h1_r6x4_blocks2x3hdc");
  EXPECT_EQ(problem.mask.blocks, (std::vector<std::uint8_t>{1, 1, 0, 1, 1, 1}));
  const std::vector<std::uint8_t> kept = kept_frequencies(problem);
  for (int k = 0; k < 24; ++k) {
    const auto removed = [](int f) { return f / 6 < 2 && f % 6 >= 4; };
    EXPECT_EQ(kept[k], !removed(k) && !removed((24 - k) % 24)) << k;
  }
  EXPECT_EQ(std::count(kept.begin(), kept.end(), 0), 8);
}

TEST(Mask, BlocksThatMirrorsTakeAwayAreRefused) {
  // Residues 1 and 2 modulo 3 are each other's mirrors; 0 is removed.
  const Convolution problem = parse_convolution("fftconv_f16_circular_l12_b2_h1_r3x4_blocks1x3h4");
  EXPECT_THROW(kept_frequencies(problem), std::invalid_argument);
}

// Of a filter of one tap, whose spectrum is flat, the share of the frequencies that are kept.
TEST(Mask, WhatIsSummedIsWhatIsLeftOfTheFilter) {
  const Convolution problem = parse_convolution("fftconv_f64_circular_l64_b2_h3_keep5to12");
  Inputs inputs = make_inputs(problem, {});
  std::fill(inputs.k.begin(), inputs.k.end(), 0);
  for (int h = 0; h < 3; ++h) inputs.k[64 * h + 20 * h] = 2;
  double square = 0;
  for (double sample : inputs.u) square += sample * sample;
  const OutputTerms y = judge_of(problem)->terms(values_of(inputs), {}).front();
  EXPECT_NEAR(y.summed_to_all(), 2 * std::sqrt(square * 16 / 64), 1e-9);
}

}  // namespace
}  // namespace danaus
