// Words of the tables of tunings that every family of fused convolutions shares.
#pragma once

#include "reference/convolution/convolution.hpp"

namespace danaus {

// A set of kinds of kernels: pair fold, right angle or plain, with gates or without. f16 and bf16 are tuned alike.
using Kinds = unsigned;

constexpr Kinds kind(Fold fold, bool gated) {
  return 1u << (gated + (fold == Fold::right_angle ? 2 : fold == Fold::plain ? 4 : 0));
}

inline constexpr Kinds kPair = 0x3, kCausal = 0xc;
inline constexpr Kinds kUngated = 0x5, kGated = 0xa;  // of these
inline constexpr Kinds kLone = 0x10;                  // plain, without gates: of rows that have no partner

// Of pairs and of lone rows without gates, kernels that leave out what a mask removes of the spectrum.
inline constexpr Kinds kOfMasks = 0x40;
inline constexpr Kinds kSparse = kOfMasks | (kPair & kUngated), kLoneSparse = kOfMasks | kLone;
constexpr bool is_sparse(Kinds kinds) { return (kinds & kOfMasks) != 0; }

enum class Worth {
  kChosen,     // the choice where the caller makes none
  kUnaligned,  // the same of rows whose length is no multiple of 8, so that seven of eight begin beside 16 bytes
  kStudied,    // there to be compared with; compiled where the CMake option DANAUS_ALL is on
};
using enum Worth;

}  // namespace danaus
