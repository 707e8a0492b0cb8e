// Masks of the factors that sparse kernels have: the paper's patterns in both readings, bands, blocks.
#pragma once

#include "tests/kernels/support.hpp"

namespace danaus {

// `skips`: so little of the spectrum is live that the sparse kernel pays.
struct Masked {
  const char* token;
  bool skips = true;
  Convolution problem() const { return parse_convolution(token); }
  friend void PrintTo(const Masked& masked, std::ostream* out) { *out << masked.token; }
};

inline constexpr Masked kMasked[] = {
    {"fftconv_f16_circular_l256_b3_h2_r16x16_keep0to11"},
    {"fftconv_f16_circular_l256_b3_h2_r16x16_zero8x8", false},
    {"fftconv_f16_circular_l512_b5_h2_r2x16x16_blocks1x1x2h8"},  // one of the two blocks
    {"fftconv_bf16_circular_l512_b2_h1_r2x16x16_keep0to20"},
    {"fftconv_f16_circular_l512_b2_h1_r2x16x16_keep0to254", false},
    {"fftconv_f16_circular_l4096_b3_h2_r16x8x4x8_zero4x0x0x0", false},
    {"fftconv_f16_circular_l4096_b3_h2_r16x8x4x8_zero4x2x2x2", false},
    {"fftconv_bf16_circular_l4096_b4_h1_r16x8x4x8_zero4x2x4x8"},
    {"fftconv_bf16_circular_l4096_b2_h2_r16x8x4x8_zero4x2x4x8literal"},
    {"fftconv_f16_circular_l4096_b1_h2_r16x8x4x8_keep0to191"},
    {"fftconv_f16_circular_l4096_b2_h1_r16x8x4x8_blocks1x1x1x16h5555", false},
    {"fftconv_f16_circular_l4096_b2_h1_r16x8x4x8_blocks1x1x1x16h8000"},
    {"fftconv_f16_circular_l4096_b2_h1_r16x8x4x8_blocks2x2x2x2hc183", false},
    {"fftconv_f16_causal_l1000_k1000_b3_h1_n4096_pair_r16x8x4x8_zero4x2x4x8"},
    {"fftconv_bf16_circular_l8192_b2_h1_r16x8x8x8_zero4x4x4x8"},
    {"fftconv_f16_circular_l8192_b2_h1_r16x8x8x8_keep1000to1300"},
    {"fftconv_f16_circular_l2048_b1_h2_r8x8x4x8_zero4x2x4x4"},
    {"fftconv_f16_circular_l4096_b1_h3_r16x8x4x8_zero4x2x4x4"},
    {"fftconv_bf16_circular_l4096_b1_h2_r16x8x4x8_zero4x2x4x8literal"},
    {"fftconv_f16_circular_l4096_b1_h2_r16x8x4x8_keep100to400"},
    {"fftconv_f16_circular_l4096_b2_h2_plain_r16x8x4x8_blocks2x2x2x2hc183"},
    {"fftconv_f16_circular_l8192_b1_h2_r16x8x8x8_zero4x4x4x8"},
    {"fftconv_f16_circular_l32768_b1_h2_r16x8x2x16x8_zero4x8x1x4x4"},
};

}  // namespace danaus
