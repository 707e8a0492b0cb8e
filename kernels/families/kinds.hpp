// Words of the tables of tunings that every family of fused convolutions shares.
#pragma once

#include "reference/convolution/convolution.hpp"

namespace danaus {

// A set of the eight kinds of kernels: f16 or bf16, pair fold or right angle, with gates or without.
using Kinds = unsigned;

constexpr Kinds kind(Dtype dtype, Fold fold, bool gated) {
  return 1u << ((dtype == Dtype::bf16) + 2 * gated + 4 * (fold == Fold::right_angle));
}

inline constexpr Kinds kAll = 0xff;
inline constexpr Kinds kF16 = 0x55, kBf16 = 0xaa;
inline constexpr Kinds kPlain = 0x33, kGated = 0xcc;
inline constexpr Kinds kPair = 0x0f, kCausal = 0xf0;

enum class Worth {
  kChosen,   // the choice where the caller makes none
  kStudied,  // there to be compared with; compiled where the CMake option DANAUS_ALL is on
};
using enum Worth;

}  // namespace danaus
