// What the program knows of operations: sizes, and cases in patterns.
#include "experiments/operations/subject.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/operations/study.hpp"

namespace danaus {
namespace {

TEST(Subjects, CasesOfEveryOperationHaveABatch) {
  for (const char* token :
       {"fftconv_bf16_circular_l16_kbf16_b5_h3_n256_pair_r16x16_blocks4x1h9", "fftconvstep_f16_causal_l16_b5_h3",
        "spectral_f32_tf32_complex_b5_c3x6_l32x16_m8x8_shared_channelmajor", "spectralgrad_f16_b5_c3x6_l32x16_m8x8",
        "shortconvgrad_bf16_same_k4_l16_b5_h3_bias", "ssmconv_f16_s7_l16_b5_h3_t64_initial"}) {
    const Case asked = parse_case(token);
    const Shape shape = shape_of(asked);
    EXPECT_EQ(shape.batch, 5) << token;
    EXPECT_EQ(shape.channels, 3) << token;
    EXPECT_EQ(shape.length, 16) << token;
    const Case other = with_batch(asked, 12);
    EXPECT_EQ(shape_of(other).batch, 12) << token;
    EXPECT_EQ(with_batch(other, 5).token(), asked.token());
  }
}

TEST(Subjects, PatternsOfTokensAreEveryChoice) {
  EXPECT_THAT(expanded("l{8,16}_b{1,2}{,_x}"),
              testing::ElementsAre("l8_b1", "l8_b1_x", "l8_b2", "l8_b2_x", "l16_b1", "l16_b1_x", "l16_b2", "l16_b2_x"));
  EXPECT_THAT(expanded("l8"), testing::ElementsAre("l8"));
}

}  // namespace
}  // namespace danaus
