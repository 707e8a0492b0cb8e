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

// Longer than fused kernels: so many rows of those between the outer passes are live; 0: all are computed.
struct MaskedLong {
  const char* token;
  int rows = 0;
  Convolution problem() const { return parse_convolution(token); }
  friend void PrintTo(const MaskedLong& masked, std::ostream* out) { *out << masked.token; }
};

inline constexpr MaskedLong kMaskedLong[] = {
    {"fftconv_f16_circular_l65536_b3_h2_r64x32x32_zero0x0x56", 15},  // k_hi < 8, and the mirrors
    {"fftconv_f16_circular_l81920_b2_h1_r320x256_zero0x312literal", 15},
    {"fftconv_bf16_circular_l65536_b1_h2_r64x32x32_zero16x4x63", 1},
    {"fftconv_f16_circular_l65536_b2_h1_r64x32x32_zero0x0x40"},  // sooner in a cluster
    {"fftconv_f16_circular_l65536_b2_h1_r64x32x32_zero16x16x16literal"},
    {"fftconv_f16_circular_l65536_b2_h1_pregate_r64x32x32_zero0x0x40", 47},
    {"fftconv_f16_causal_l40000_k20000_b2_h1_postgate_n65536_pair_r128x512_zero0x100", 55},
    {"fftconv_f16_circular_l81920_b3_h1_r320x256_zero0x280", 79},
    {"fftconv_bf16_circular_l81920_b3_h2_r320x256_zero0x310", 19},
    {"fftconv_bf16_circular_l98304_b2_h1_pregate_postgate_r192x512_zero0x150", 83},
    {"fftconv_bf16_circular_l114688_b1_h1_r448x256_zero128x440", 15},
    {"fftconv_f16_circular_l131072_b2_h1_postgate_r64x2048_blocks1x64hc000000000000001", 3},
    {"fftconv_f16_circular_l98304_b1_h1_keep0to40000"},
};

}  // namespace danaus
