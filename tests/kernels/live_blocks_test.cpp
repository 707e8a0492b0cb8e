#include "kernels/plan/live_blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "reference/convolution/mask.hpp"
#include "reference/convolution/monarch.hpp"
#include "reference/dft.hpp"

namespace danaus {
namespace {

std::vector<std::uint8_t> marks(const char* token) { return kept_frequencies(parse_convolution(token)); }

// Spectrum of x in Monarch order, by the stages' matrices; what is not live is left out after every stage.
Eigen::VectorXcd forward(const Eigen::VectorXcd& x, const std::vector<int>& factors,
                         const std::vector<LiveStage>& stages) {
  std::vector<MonarchFactor> matrices = monarch_factors(factors);
  matrices.pop_back();  // no digit reversal: places are (d1, ..., dp)
  Eigen::VectorXcd v = x;
  std::size_t stage = 0;
  for (const MonarchFactor& matrix : matrices) {
    v = (matrix.matrix * v).eval();
    if (!matrix.name.starts_with("block-diagonal DFT")) continue;
    const std::vector<std::uint8_t>& live = stages[stage++].blocks;  // d1 ... ds are the fastest digits
    for (Eigen::Index place = 0; place < v.size(); ++place)
      if (!live[place % std::ssize(live)]) v[place] = 0;
  }
  return v;
}

constexpr const char* kCases[] = {
    "fftconv_f64_circular_l60_b1_h1_plain_r3x4x5_zero2x1x1literal",
    "fftconv_f64_circular_l60_b1_h1_r3x4x5_zero3x2x1",
    "fftconv_f64_circular_l60_b1_h1_r3x4x5_keep0to9",
    "fftconv_f64_circular_l60_b1_h1_r3x4x5_keep22to30",
    "fftconv_f64_circular_l64_b1_h1_r4x4x4_blocks4x4x1h9009",
    "fftconv_f64_circular_l64_b1_h1_r4x4x4_blocks1x2x4ha5",
};

// What is left of a transform without its dead blocks is the masked spectrum; with one block fewer it is not.
TEST(LiveBlocks, AreWhatTheMaskedSpectrumNeedsAndNoFewer) {
  for (const char* token : kCases) {
    const Convolution problem = parse_convolution(token);
    const std::vector<std::uint8_t> kept = kept_frequencies(problem);
    std::vector<LiveStage> stages = live_blocks(kept, problem.factors);
    ASSERT_EQ(stages.size(), problem.factors.size());

    const Eigen::Index n = std::ssize(kept);
    Eigen::VectorXcd x(n);
    for (Eigen::Index i = 0; i < n; ++i) x[i] = root_of_unity(i * i, 7 * n) + 0.5;
    const std::vector<Complex> spectrum = dft({x.data(), std::size_t(n)});
    Eigen::VectorXcd masked(n);
    const std::vector<std::int64_t> order = monarch_order(problem.factors);
    for (Eigen::Index place = 0; place < n; ++place)
      masked[place] = kept[order[place]] ? spectrum[order[place]] : Complex(0);
    const auto error = [&] { return (forward(x, problem.factors, stages) - masked).norm() / masked.norm(); };
    EXPECT_LT(error(), 1e-12) << token;

    for (LiveStage& stage : stages)
      for (std::uint8_t& block : stage.blocks)
        if (block) {
          block = 0;
          EXPECT_GT(error(), 1e-3) << token << " without block " << &block - stage.blocks.data();
          block = 1;
        }
  }
}

TEST(LiveBlocks, AreCountedAndDigitsAreDeadWhereAllTheirsAre) {
  const std::vector<int> factors = {3, 4, 5};
  const auto stages = live_blocks(marks("fftconv_f64_circular_l60_b1_h1_plain_r3x4x5_zero2x1x1literal"), factors);
  EXPECT_EQ(stages[0].dead_digits, (std::vector{2}));
  EXPECT_EQ(stages[1].dead_digits, (std::vector{3}));
  EXPECT_EQ(stages[2].dead_digits, (std::vector{3, 4}));
  EXPECT_EQ(stages[0].live, 2);
  EXPECT_EQ(stages[1].live, 2 * 3);
  EXPECT_EQ(stages[2].live, 2 * 3 * 3);
  EXPECT_DOUBLE_EQ(stages[2].fraction(), 18 / 60.);
  for (const LiveStage& stage : stages) EXPECT_EQ(std::ranges::count(stage.blocks, 1), stage.live);

  const auto all = live_blocks(std::vector<std::uint8_t>(60, 1), factors);
  for (const LiveStage& stage : all) {
    EXPECT_EQ(stage.fraction(), 1);
    EXPECT_TRUE(stage.dead_digits.empty());
  }
}

TEST(LiveBlocks, MayBeDeadTogetherWhereNoDigitIs) {
  // Half of the top two digits each: literally a quarter of the pairs lives, with its mirrors half of them, and the
  // dead half is no row or column of any stage.
  const auto stages = live_blocks(marks("fftconv_f64_circular_l256_b1_h1_r4x8x8_zero4x4x0"), std::vector{4, 8, 8});
  for (const LiveStage& stage : stages) EXPECT_TRUE(stage.dead_digits.empty());
  EXPECT_LT(stages[2].fraction(), 0.6);
}

TEST(LiveBlocks, AreThoseOfBothWhereMirrorsShareTheirMean) {
  const std::vector<std::uint8_t> literal = marks("fftconv_f64_circular_l16_b1_h1_plain_r4x4_zero2x0literal");
  EXPECT_EQ(std::ranges::count(literal, 1), 8);
  EXPECT_EQ(live_with_mirrors(literal), marks("fftconv_f64_circular_l16_b1_h1_r4x4_zero2x0"));
}

TEST(LiveBlocks, RowsOfPaddingAreDead) {
  const std::vector<int> factors = {8, 4, 4};  // rows of 16 samples
  EXPECT_EQ(live_rows(128, factors), 8);
  EXPECT_EQ(live_rows(64, factors), 4);
  EXPECT_EQ(live_rows(65, factors), 5);
  EXPECT_EQ(live_rows(1, factors), 1);
  EXPECT_EQ(live_rows(1000, factors), 8);
}

TEST(LiveBlocks, RefuseMarksOfAnotherLength) {
  EXPECT_THROW(live_blocks(std::vector<std::uint8_t>(59, 1), std::vector{3, 4, 5}), std::invalid_argument);
}

}  // namespace
}  // namespace danaus
