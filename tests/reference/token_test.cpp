// Numbers in tokens.
#include "reference/token.hpp"

#include <gtest/gtest.h>

namespace danaus {
namespace {

TEST(Tokens, HaveNumbersByName) {
  constexpr std::string_view kToken = "fftconv_bf16_circular_l16_kbf16_b5_h3_blocks4x1h9_n256";
  EXPECT_EQ(number_in(kToken, "b"), 5);
  EXPECT_EQ(number_in(kToken, "n"), 256);
  EXPECT_EQ(number_in(kToken, "k"), std::nullopt);
  EXPECT_EQ(number_in("spectral_f32_b2_l32x16", "l"), std::nullopt) << "a list";
  EXPECT_EQ(with_number(kToken, "n", 7), "fftconv_bf16_circular_l16_kbf16_b5_h3_blocks4x1h9_n7");
  EXPECT_EQ(with_number(kToken, "b", 64), "fftconv_bf16_circular_l16_kbf16_b64_h3_blocks4x1h9_n256");
  EXPECT_THROW(with_number(kToken, "s", 1), std::invalid_argument);
}

}  // namespace
}  // namespace danaus
