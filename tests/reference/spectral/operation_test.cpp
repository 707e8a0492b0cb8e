// What a spectral layer's token says and refuses.
#include <gtest/gtest.h>

#include "reference/spectral_gradient/spectral_gradient.hpp"

namespace danaus {
namespace {

TEST(SpectralTokens, GoThereAndBack) {
  for (const char* word :
       {"spectral_f32_tf32_complex_b32_c32x64_l128_m64_shared_channelmajor", "spectral_f32_b1_c1x1_l16_m9",
        "spectral_bf16_b3_c7x256_l100_m51_shared", "spectral_f16_complex_b2_c8x8_l64_m32_twosided",
        "spectral_f64_b2_c3x4_l24x17_m5x9_twosided", "spectral_f32_complex_b2_c3x4_l24x16_m24x16_adjoint"}) {
    EXPECT_EQ(token(parse_spectral(word)), word);
    EXPECT_EQ(parse_case(word).token(), word);
  }
  EXPECT_EQ(parse_spectral("spectral_m8_l32_shared_c2x4_b5_complex_f16"),
            parse_spectral("spectral_f16_complex_b5_c2x4_l32_m8_shared"));
}

struct Wrong {
  const char* token;
  const char* message;
};

class SpectralRefusals : public testing::TestWithParam<Wrong> {};

TEST_P(SpectralRefusals, NameValueAndRule) {
  try {
    parse_spectral(GetParam().token);
    FAIL() << GetParam().token;
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find(GetParam().message), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Spectral, SpectralRefusals,
    testing::Values(
        Wrong{"spectral_f32_b1_c4x4_l16_m10", "modes of axis 1=10, must be at most 9, as half of the spectrum of 16"},
        Wrong{"spectral_f32_complex_b1_c4x4_l16_m17", "modes of axis 1=17, must be at most 16 of the 16 frequencies"},
        Wrong{"spectral_f32_complex_b1_c4x4_l16_m9_twosided", "must be at most 8 of the 16 frequencies from either"},
        Wrong{"spectral_f32_b1_c4x4_l16_m4_twosided", "twosided of one axis of real samples"},
        Wrong{"spectral_f32_b1_c4x4_l16x16_m9x4_twosided", "modes of axis 1=9, must be at most 8"},
        Wrong{"spectral_f32_b1_c4x4_l16_m0", "modes of axis 1=0, must be at least 1"},
        Wrong{"spectral_f32_b1_c4x4_l16x16_m4", "modes of 1 axes, must be one number for each of the 2"},
        Wrong{"spectral_f32_b1_c4x4_l16x16x16_m4x4x4", "3 axes, must be 1 or 2"},
        Wrong{"spectral_f16_tf32_b1_c4x4_l16_m4", "tf32 of f16 samples, they must be f32"},
        Wrong{"spectral_f32_b1_c4_l16_m4", "needs two numbers"}, Wrong{"spectral_f32_b0_c4x4_l16_m4", "B=0"},
        Wrong{"spectral_f32_b1_c4x0_l16_m4", "C_out=0"}, Wrong{"spectral_b1_c4x4_l16_m4", "field 'dtype' is missing"},
        Wrong{"spectral_f32_b1_c4x4_l16_m4_zero4", "unknown field 'zero4'"},
        Wrong{"spectral_f32_b99999999999_c4x4_l99999_m4", "more than 2^46 samples"}));

TEST(SpectralArrays, HaveTheShapesOfTheCase) {
  const auto extents = [](const char* word, int i) { return arrays(parse_spectral(word))[i].extents; };
  using List = std::vector<std::int64_t>;
  const char* const line = "spectral_f16_complex_b2_c3x4_l24_m5_twosided_channelmajor";
  EXPECT_EQ(extents(line, 0), (List{3, 2, 24, 2}));
  EXPECT_EQ(extents(line, 1), (List{3, 4, 10, 2}));
  EXPECT_EQ(extents(line, 2), (List{4, 2, 24, 2}));
  EXPECT_EQ(arrays(parse_spectral(line))[1].dtype, Dtype::f32);
  const char* const plane = "spectral_f32_b2_c3x4_l24x17_m5x9_twosided";
  EXPECT_EQ(extents(plane, 0), (List{2, 3, 24, 17}));
  EXPECT_EQ(extents(plane, 1), (List{3, 4, 10, 9, 2}));
  EXPECT_EQ(extents("spectral_f32_b2_c3x4_l24_m5_shared", 1), (List{3, 4, 2}));
  EXPECT_EQ(extents("spectral_f32_b2_c3x4_l24_m5_adjoint", 1), (List{4, 3, 5, 2}));
  EXPECT_EQ(kept_count(parse_spectral(plane)), 90);
  EXPECT_EQ(kept_on_axis(parse_spectral(line), 0), (std::vector{0, 1, 2, 3, 4, 19, 20, 21, 22, 23}));
}

// Figure 5 of Wu et al. 2025: of 4 points 37.5 % for a quarter of the outputs, 75 % for half of them.
TEST(PrunedTransforms, NeedTheOperationsOfTheFigure) {
  EXPECT_EQ(pruned_operations(4, 4), 8);
  EXPECT_EQ(pruned_operations(4, 1), 3);
  EXPECT_EQ(pruned_operations(4, 2), 6);
  EXPECT_EQ(pruned_operations(256, 256), 256 * 8);
  EXPECT_EQ(pruned_operations(256, 1), 255);
  EXPECT_EQ(pruned_operations(256, 64), 256 * 6 + 128 + 64);
  EXPECT_THROW(pruned_operations(12, 3), std::invalid_argument);
  EXPECT_THROW(pruned_operations(8, 9), std::invalid_argument);
}

TEST(SpectralGradient, HasATokenOfItsOwn) {
  for (const char* word : {"spectralgrad_f32_tf32_complex_b32_c32x64_l128_m64_shared_channelmajor",
                           "spectralgrad_f16_b2_c3x4_l24x17_m5x9_twosided"}) {
    EXPECT_EQ(parse_case(word).token(), word);
    EXPECT_NE(parse_case(word).as<SpectralGradient>(), nullptr);
  }
}

TEST(SpectralGradient, HasTheArraysOfItsLayer) {
  const std::vector<Array> list = parse_case("spectralgrad_f16_b2_c3x4_l24_m5").arrays();
  ASSERT_EQ(list.size(), 5u);
  const char* const names[] = {"u", "w", "dy", "du", "dw"};
  const Role roles[] = {Role::input, Role::filter, Role::input, Role::output, Role::output};
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(list[i].name == names[i] && list[i].role == roles[i]) << i;
  EXPECT_EQ(list[2].extents, (std::vector<std::int64_t>{2, 4, 24}));
  EXPECT_EQ(list[3].extents, list[0].extents);
  EXPECT_EQ(list[4].extents, list[1].extents);
  EXPECT_EQ(list[4].dtype, Dtype::f32);
  EXPECT_THROW(parse_case("spectralgrad_f16_b2_c3x4_l24_m5_adjoint"), std::invalid_argument);
}

}  // namespace
}  // namespace danaus
