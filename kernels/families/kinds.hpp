// Words of the tables of tunings that every family of fused convolutions shares.
#pragma once

#include "reference/convolution/convolution.hpp"

namespace danaus {

// A set of the four kinds of kernels: pair fold or right angle, with gates or without. f16 and bf16 are tuned alike.
using Kinds = unsigned;

constexpr Kinds kind(Fold fold, bool gated) { return 1u << (gated + 2 * (fold == Fold::right_angle)); }

inline constexpr Kinds kPlain = 0x5, kGated = 0xa;
inline constexpr Kinds kPair = 0x3, kCausal = 0xc;

// Of the pair fold without gates, kernels that leave out what a mask removes of the spectrum.
inline constexpr Kinds kSparse = 0x10 | (kPair & kPlain);
constexpr bool is_sparse(Kinds kinds) { return (kinds & kSparse) == kSparse; }

enum class Worth {
  kChosen,   // the choice where the caller makes none
  kStudied,  // there to be compared with; compiled where the CMake option DANAUS_ALL is on
};
using enum Worth;

}  // namespace danaus
