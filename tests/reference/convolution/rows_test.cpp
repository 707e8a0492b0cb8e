#include "reference/convolution/rows.hpp"

#include <gtest/gtest.h>

namespace danaus {
namespace {

using Row = std::vector<double>;

Convolution shape(Mode mode, std::int64_t length, std::int64_t filter_length) {
  Convolution problem;
  problem.mode = mode;
  problem.length = length;
  problem.filter_length = filter_length;
  return problem;
}

TEST(EffectiveFilter, IsCutOrWrapped) {
  const Row k = {1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(effective_filter(shape(Mode::causal, 3, 7), k), (Row{1, 2, 3}));
  EXPECT_EQ(effective_filter(shape(Mode::circular, 3, 7), k), (Row{1 + 4 + 7, 2 + 5, 3 + 6}));
  EXPECT_EQ(effective_filter(shape(Mode::circular, 9, 7), k), k);
}

TEST(ToLength, CutsOrWraps) {
  Row y(3, -1.0);
  to_length(Mode::causal, Row{1, 2, 3, 4, 5}, y);
  EXPECT_EQ(y, (Row{1, 2, 3}));
  to_length(Mode::circular, Row{1, 2, 3, 4, 5, 6, 7}, y);
  EXPECT_EQ(y, (Row{1 + 4 + 7, 2 + 5, 3 + 6}));
}

TEST(Pairs, ShareATransformUnlessTheFilterIsComplex) {
  EXPECT_TRUE(shares_transforms(parse_convolution("fftconv_f16_circular_l16_b1_h1_pair")));
  EXPECT_FALSE(shares_transforms(parse_convolution("fftconv_f16_circular_l16_b1_h1_plain")));
  EXPECT_TRUE(shares_transforms(parse_convolution("fftconv_f16_circular_l16_b1_h1_pair_r4x4_zero1x1")));
  EXPECT_FALSE(shares_transforms(parse_convolution("fftconv_f16_circular_l16_b1_h1_pair_r4x4_zero1x1literal")));
}

}  // namespace
}  // namespace danaus
