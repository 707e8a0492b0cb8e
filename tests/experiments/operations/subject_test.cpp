// What the program knows of operations: sizes.
#include "experiments/operations/subject.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace danaus
