#include "reference/convolution/convolution.hpp"

#include <gtest/gtest.h>

namespace danaus {
namespace {

std::string refusal(const std::string& token) {
  try {
    parse_convolution(token);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Token, RoundTrips) {
  for (const char* text : {
           "fftconv_f16_causal_l1024_b64_h768",
           "fftconv_bf16_circular_l1000_k17_b3_h5_pregate_n2048_pair",
           "fftconv_f32_causal_l7_k9_b1_h1_postgate_n13_plain",
           "fftconv_f64_circular_l64_b2_h1_n64_half_r8x4",
           "fftconv_f16_circular_l4096_k100_b2_h2_pregate_postgate_n4096_pair_r16x16x16_zero8x8x0literal",
           "fftconv_f16_circular_l16_b1_h1_r4x4_zero2x0",
           "fftconv_f16_causal_l48_b1_h1_n48_rightangle_r3x16",
           "fftconv_f16_causal_l1000_k9_b1_h1_n64",
           "fftconv_f16_circular_l4096_b2_h1_keep0to63+100to2048",
           "fftconv_f16_circular_l24_b2_h1_pair_r6x4_blocks2x3hdc",
           "fftconv_f16_causal_l100_b2_h1_n256_pair_r16x16_blocks16x1h8003",
       }) {
    const Convolution problem = parse_convolution(text);
    EXPECT_EQ(token(problem), text);
    EXPECT_EQ(parse_convolution(token(problem)), problem);
  }
}

TEST(Token, FieldsComeInAnyOrder) {
  EXPECT_EQ(token(parse_convolution("fftconv_h768_l1024_causal_b64_f16")), "fftconv_f16_causal_l1024_b64_h768");
}

TEST(Token, SaysWhatIsWrong) {
  EXPECT_NE(refusal("conv_f16").find("begins with 'fftconv'"), std::string::npos);
  EXPECT_NE(refusal("fftconv_f8_causal_l4_b1_h1").find("unknown field 'f8'"), std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_causal_l4_b1").find("'h' is missing"), std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_causal_l4x_b1_h1").find("whole number"), std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_causal_l4_l5_b1_h1").find("stands twice"), std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_causal__l4_b1_h1").find("empty field"), std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_causal_l99999999999999999999_b1_h1").find("must be less than 2^63"),
            std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_causal_l4_b1_h1_").find("empty field"), std::string::npos);
  EXPECT_NE(refusal("").find("begins with 'fftconv'"), std::string::npos);
}

TEST(Convolution, RefusesWhatMeansNothing) {
  EXPECT_NE(refusal("fftconv_f16_causal_l0_b1_h1").find("L=0, must be at least 1"), std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_causal_l4_k0_b1_h1").find("K=0, must be at least 1"), std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_causal_l8_b1_h1_n8_pair").find("needs N >= 15"), std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_circular_l8_k3_b1_h1_n9_pair").find("N >= 10 or N = L"), std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_causal_l8_b1_h1_n7_rightangle").find("N >= L=8"), std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_circular_l9_b1_h1_half").find("even N"), std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_circular_l16_b1_h1_n16_r4x8").find("multiply to 32"), std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_circular_l16_b1_h1_r4x4_zero4x0").find("from 0 to 3"), std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_circular_l16_b1_h1_r4x4_zero1").find("one for each of the 2 factors"),
            std::string::npos);
  EXPECT_EQ(
      refusal("fftconv_f16_circular_l1024_b1_h1_zero8x0"),
      "fftconv: the mask zero8x0 needs the field r<N1>x<N2>... with 2 factors of 1024, one for each of its counts; "
      "the token has no field r");
  EXPECT_NE(refusal("fftconv_f16_circular_l1024_b1_h1_blocks4h9").find("with 1 factor of 1024"), std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_causal_l16_b1_h1_rightangle_r4x4_zero1x1").find("frequency mask"), std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_causal_l100_k33_b1_h1_n64").find("need K <= N/2, K=33"), std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_causal_l100_k4_b1_h1_n16_pair_r4x4_zero1x1").find("mask needs N >= L"),
            std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_circular_l16_b1_h1_keep0").find("needs bands"), std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_circular_l16_b1_h1_keep0to9").find("0 to N/2=8"), std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_circular_l16_b1_h1_keep5to4").find("ascending"), std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_circular_l16_b1_h1_keep0to4+5to6").find("something removed between"),
            std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_circular_l16_b1_h1_keep0to4_r4x4_zero1x0").find("exclude each other"),
            std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_causal_l16_b1_h1_keep0to4").find("the filter's own spectrum"), std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_circular_l16_b1_h1_r4x4_blocks4x4").find("needs pieces and marks"), std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_circular_l16_b1_h1_r4x4_blocks4x4hfff").find("16 blocks need 4"), std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_circular_l16_b1_h1_r4x4_blocks2x1hg").find("0 to 9 and a to f"), std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_circular_l16_b1_h1_r4x4_blocks2x1hf").find("more blocks than it has"),
            std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_circular_l16_b1_h1_r4x4_blocks3x1he").find("must divide its 4 indices"),
            std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_circular_l16_b1_h1_r4x4_blocks2hc").find("one for each of the 2 factors"),
            std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_circular_l16_b1_h1_r4x4_blocks2x2h0").find("removes everything"), std::string::npos);
  EXPECT_NE(refusal("fftconv_f16_circular_l60000000000000_b64_h768").find("2^46"), std::string::npos);
  // A mask has a mark for each of N frequencies.
  for (const char* token :
       {"fftconv_f16_circular_l1024_b1_h1_n4294967296_keep0to3", "fftconv_f16_circular_l1073741825_b1_h1_keep0to3",
        "fftconv_f16_circular_l1024_b1_h1_n1073741825",
        "fftconv_f16_circular_l4294967296_b1_h1_r2048x2048x1024_zero1x0x0"})
    EXPECT_NE(refusal(token).find("must be at most 2^30"), std::string::npos) << token;
  EXPECT_EQ(parse_convolution("fftconv_f16_causal_l1024_b1_h1_n1073741824").fft_size, 1 << 30);
  EXPECT_NE(refusal("fftconv_f16_circular_l131072_b1_h1_r16x8192_keep4to6").find("each must be from 1 to 4096"),
            std::string::npos);
}

TEST(Convolution, ChoosesFoldAndSizeThatWereOpen) {
  EXPECT_EQ(token(resolved(parse_convolution("fftconv_f16_circular_l60_b1_h1"))),
            "fftconv_f16_circular_l60_b1_h1_n60_pair");
  EXPECT_EQ(token(resolved(parse_convolution("fftconv_f16_causal_l60_b1_h1"))),
            "fftconv_f16_causal_l60_b1_h1_n60_rightangle");
  EXPECT_EQ(resolved(parse_convolution("fftconv_f16_causal_l60_k5_b1_h1_pair")).fft_size, 64);
  EXPECT_EQ(resolved(parse_convolution("fftconv_f16_causal_l60_k5_b1_h1_n16")).fold, Fold::pair);
  EXPECT_EQ(resolved(parse_convolution("fftconv_f16_causal_l4_k4_b1_h1_half")).fft_size, 8);
}

}  // namespace
}  // namespace danaus
