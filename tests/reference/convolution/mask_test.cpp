#include "reference/convolution/mask.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reference/convolution/monarch.hpp"
#include "reference/dft.hpp"

namespace danaus {
namespace {

Convolution masked(std::vector<int> factors, std::vector<int> zeroed, MaskReading reading) {
  Convolution problem;
  problem.factors = std::move(factors);
  problem.length = problem.filter_length = 1;
  for (int factor : problem.factors) problem.length *= factor;
  problem.filter_length = problem.length;
  problem.mask = {std::move(zeroed), reading};
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

TEST(Mask, DimensionsBelongToTheStagesOfTheTransform) {
  // A transform that leaves out what dead_digits() names still finds every frequency that is kept: for each of them the
  // stages' digits, read off the place where the Monarch matrices put a pure tone, are all alive.
  const Convolution problem = masked({3, 4, 5}, {2, 1, 1}, MaskReading::literal);
  const std::vector<std::uint8_t> kept = kept_frequencies(problem);
  const std::vector<std::vector<int>> dead = dead_digits(problem);
  EXPECT_EQ(dead, (std::vector<std::vector<int>>{{2}, {3}, {3, 4}}));

  std::vector<MonarchFactor> matrices = monarch_factors(problem.factors);
  matrices.pop_back();  // no digit reversal: places are (d1, d2, d3)
  for (int k = 0; k < 60; ++k) {
    Eigen::VectorXcd tone(60);
    for (int n = 0; n < 60; ++n) tone[n] = root_of_unity(-n * k, 60);
    for (const MonarchFactor& factor : matrices) tone = (factor.matrix * tone).eval();
    Eigen::Index place;
    tone.cwiseAbs().maxCoeff(&place);
    const std::vector<Eigen::Index> digit = {place / 20, place / 5 % 4, place % 5};
    bool alive = true;
    for (int s = 0; s < 3; ++s) alive = alive && std::find(dead[s].begin(), dead[s].end(), digit[s]) == dead[s].end();
    EXPECT_EQ(alive, kept[k] == 1) << k;
  }
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
  EXPECT_EQ(dead_digits(problem), (std::vector<std::vector<int>>{{}, {}}));
}

TEST(Mask, WeightsOfARealFilterAreTheMeanOfMirrors) {
  const Convolution literal = masked({4, 4}, {2, 0}, MaskReading::literal);  // keeps 0 .. 7
  EXPECT_EQ(real_mask_weights(literal), (std::vector<double>{1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0}));
  const Convolution hermitian = masked({4, 4}, {2, 0}, MaskReading::hermitian);
  EXPECT_EQ(real_mask_weights(hermitian), (std::vector<double>{1, 1, 1, 1, 1, 1, 1, 1, 0}));
}

TEST(Mask, BlocksAreDeadWhenAllTheirFrequenciesAre) {
  for (MaskReading reading : {MaskReading::literal, MaskReading::hermitian}) {
    const Convolution problem = masked({3, 4, 5}, {2, 2, 1}, reading);
    const std::vector<std::uint8_t> kept = kept_frequencies(problem);
    const std::vector<std::vector<std::uint8_t>> dead = dead_blocks(problem);
    const auto frequency = [](int d1, int d2, int d3) { return d1 + 3 * (d2 + 4 * d3); };
    ASSERT_EQ(dead.size(), 3u);
    for (int d1 = 0; d1 < 3; ++d1) {
      bool all_below = true;
      for (int d2 = 0; d2 < 4; ++d2) {
        bool all = true;
        for (int d3 = 0; d3 < 5; ++d3) {
          EXPECT_EQ(dead[2][(d1 * 4 + d2) * 5 + d3], !kept[frequency(d1, d2, d3)]);
          all = all && !kept[frequency(d1, d2, d3)];
        }
        EXPECT_EQ(dead[1][d1 * 4 + d2], all);
        all_below = all_below && all;
      }
      EXPECT_EQ(dead[0][d1], all_below);
    }
  }
}

TEST(Mask, HermitianBlocksAreDeadTogetherWhereNoDigitIs) {
  // Half of the top two digits each: literally a quarter of the pairs lives, with its mirrors half of them, and the
  // dead half is no row or column of any stage.
  const Convolution problem = masked({4, 8, 8}, {4, 4, 0}, MaskReading::hermitian);
  EXPECT_EQ(dead_digits(problem), (std::vector<std::vector<int>>{{}, {}, {}}));
  const std::vector<std::uint8_t> last = dead_blocks(problem).back();
  EXPECT_GT(std::count(last.begin(), last.end(), 1), 256 * 0.4);
}

}  // namespace
}  // namespace danaus
