// None of it has been measured against another yet. Where a device has more multiprocessors than the batch has items, a
// block has many warps, so that an item takes little time. Else four warps, for up to 64 channels, leave room for
// several blocks on an SM, one of which computes while another one's rows travel, and for tables in L1: spectra of
// outputs in the place of those of inputs take 35 KB for 64 channels and frequencies. Eight tiles of frequencies read
// samples once where 64 frequencies are kept; operands in two parts, and samples that are to be taken apart, leave
// registers for four. With two blocks of eight warps and eight tiles a lane keeps two words of its place in local
// memory (8 bytes, outside of loops).
#pragma once

#include <array>

#include "kernels/families/mix/layout.hpp"

namespace danaus::mix {

enum class Operands { tf32, split, halves };  // of products

constexpr Operands operands_of(const Key& key) {
  return key.dtype != Dtype::f32 ? Operands::halves : key.tf32 ? Operands::tf32 : Operands::split;
}

struct Line {
  Stage stage;
  Operands operands;
  std::int64_t items, channels;  // that it is chosen up to
  Tuning tuning;
};

// A layer of one axis goes by passes where the batch has fewer items than a device has multiprocessors over this.
inline constexpr std::int64_t kPassesBelow = 4;

inline constexpr std::int64_t kLess = 32, kFew = 128, kAny = std::int64_t{1} << 62;

inline constexpr std::array kLines = std::to_array<Line>({
    {Stage::layer, Operands::tf32, kLess, 64, {16, 2, 1, 1, 1}},
    {Stage::layer, Operands::tf32, kLess, kAny, {16, 4, 1, 1, 1}},
    {Stage::layer, Operands::tf32, kFew, kAny, {16, 4, 4, 2, 1}},
    {Stage::layer, Operands::tf32, kAny, 64, {8, 4, 4, 2, 2}},
    {Stage::layer, Operands::tf32, kAny, kAny, {8, 4, 8, 2, 2}},
    {Stage::layer, Operands::split, kFew, kAny, {16, 2, 1, 1, 1}},
    {Stage::layer, Operands::split, kAny, 64, {8, 2, 4, 1, 2}},
    {Stage::layer, Operands::split, kAny, kAny, {8, 2, 8, 1, 2}},
    {Stage::layer, Operands::halves, kFew, kAny, {16, 4, 1, 2, 1}},
    {Stage::layer, Operands::halves, kAny, 64, {8, 4, 4, 2, 2}},
    {Stage::layer, Operands::halves, kAny, kAny, {8, 4, 8, 2, 2}},
    {Stage::there, Operands::tf32, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::there, Operands::split, kAny, kAny, {8, 2, 2, 2, 2}},
    {Stage::there, Operands::halves, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::middle, Operands::tf32, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::middle, Operands::split, kAny, kAny, {8, 4, 2, 2, 2}},
    {Stage::middle, Operands::halves, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::back, Operands::tf32, kAny, kAny, {8, 4, 8, 2, 2}},
    {Stage::back, Operands::split, kAny, kAny, {8, 2, 4, 1, 2}},
    {Stage::back, Operands::halves, kAny, kAny, {8, 4, 8, 2, 2}},
    {Stage::arrange, Operands::tf32, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::arrange, Operands::split, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::arrange, Operands::halves, kAny, kAny, {8, 4, 4, 2, 2}},
});

}  // namespace danaus::mix
