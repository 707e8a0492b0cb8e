// None of it has been measured against another yet. Four warps for up to 64 channels leave room for several blocks on
// an SM, one of which computes while another one's rows travel. Eight tiles of frequencies read samples once where 64
// frequencies are kept; operands in two parts, and samples that are to be taken apart, leave registers for four.
#pragma once

#include <array>

#include "kernels/families/mix/layout.hpp"

namespace danaus::mix {

enum class Operands { tf32, split, halves };  // of products

constexpr Operands operands_of(const Key& key) {
  return key.dtype != Dtype::f32 ? Operands::halves : key.tf32 ? Operands::tf32 : Operands::split;
}

struct Line {
  Operands operands;
  int channels;  // that it is chosen up to
  Tuning tuning;
};

inline constexpr int kAnyChannels = 1 << 30;

inline constexpr std::array kLines = std::to_array<Line>({
    {Operands::tf32, 64, {4, 8, 3}},
    {Operands::tf32, kAnyChannels, {8, 8, 1}},
    {Operands::split, 64, {4, 4, 4}},
    {Operands::split, kAnyChannels, {8, 4, 2}},
    {Operands::halves, 64, {4, 4, 4}},
    {Operands::halves, kAnyChannels, {8, 4, 2}},
});

}  // namespace danaus::mix
