// Measured on an H200, TF32, complex samples, weights shared, 64 modes, as far as not said otherwise. Times in us.
//
//   layer, few items   One launch in slices of output channels, each of which transforms all inputs: 10 where passes
//                      took 22 (64 to 64 channels, 128 points). Its warps have four tiles to transform, which reads
//                      rows twice instead of four times: 17.8 for 26.6 (128 to 128, 256 points, 16 items). Up to as
//                      many items as multiprocessors: 14.4 for 15.5 with few tiles for a warp (64 to 64, 128 points).
//   layer, many        Eight warps, two blocks: 506, four and four 531 to 552 (64 to 64, 128 points, 8192 items); of
//                      longer rows, whose tables leave L1 little room, 1046 and 972. Eight tiles to transform with
//                      three blocks of four warps: 611 for 509, before weights came a step ahead. More than 64
//                      channels: eight tiles to mix put results in the place of inputs; one block of 16 warps 1474 for
//                      1357 then.
//   tables             in shared memory: 506 for 552 (64 to 64, 128 points), 1046 for 1101 (256 points); where one of
//                      the two has room, 2216 for 2151 without (128 to 128, 256 points).
//   rows an item ahead in L2: 507 for 571, where the items of all blocks take up to a third of it; with more of it 1172
//                      for 1088.
//   back               eight tiles to mix: 198 for 227 of all passes (64 to 64, 128 x 128 points, 16 items).
//
// Operands in two parts take fewer tiles, so that registers hold them; those, 16 bits and weights of each frequency
// have not been measured. Of three kernels a lane keeps one to three words of its place in local memory, outside of
// loops: operands in two parts with eight tiles to mix, samples there alone in TF32, and few items of a layer with
// weights of each frequency in TF32. Where the batch of such a layer is small it goes by passes.
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
  std::int64_t items, channels, points;  // that it is chosen up to; points of a row
  Tuning tuning;
};

// A layer of one axis with weights of each frequency goes by passes where the batch has fewer items than a device has
// multiprocessors over this.
inline constexpr std::int64_t kPassesBelow = 4;

inline constexpr std::int64_t kLess = 32, kFew = 128, kAny = std::int64_t{1} << 62;

inline constexpr std::array kLines = std::to_array<Line>({
    {Stage::layer, Operands::tf32, kLess, kAny, kAny, {16, 4, 1, 1, 1}},
    {Stage::layer, Operands::tf32, kFew, kAny, kAny, {16, 4, 4, 2, 1}},
    {Stage::layer, Operands::tf32, kAny, 64, 128, {8, 4, 4, 2, 2}},
    {Stage::layer, Operands::tf32, kAny, 64, kAny, {4, 4, 8, 2, 4}},
    {Stage::layer, Operands::tf32, kAny, kAny, kAny, {8, 4, 8, 2, 2}},
    {Stage::layer, Operands::split, kFew, kAny, kAny, {16, 2, 1, 1, 1}},
    {Stage::layer, Operands::split, kAny, 64, kAny, {8, 2, 4, 1, 2}},
    {Stage::layer, Operands::split, kAny, kAny, kAny, {8, 2, 8, 1, 2}},
    {Stage::layer, Operands::halves, kFew, kAny, kAny, {16, 4, 1, 2, 1}},
    {Stage::layer, Operands::halves, kAny, 64, kAny, {8, 4, 4, 2, 2}},
    {Stage::layer, Operands::halves, kAny, kAny, kAny, {8, 4, 8, 2, 2}},
    {Stage::there, Operands::tf32, kAny, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::there, Operands::split, kAny, kAny, kAny, {8, 2, 2, 2, 2}},
    {Stage::there, Operands::halves, kAny, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::middle, Operands::tf32, kAny, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::middle, Operands::split, kAny, kAny, kAny, {8, 4, 2, 2, 2}},
    {Stage::middle, Operands::halves, kAny, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::back, Operands::tf32, kAny, kAny, kAny, {8, 4, 8, 2, 2}},
    {Stage::back, Operands::split, kAny, kAny, kAny, {8, 2, 4, 1, 2}},
    {Stage::back, Operands::halves, kAny, kAny, kAny, {8, 4, 8, 2, 2}},
    {Stage::arrange, Operands::tf32, kAny, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::arrange, Operands::split, kAny, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::arrange, Operands::halves, kAny, kAny, kAny, {8, 4, 4, 2, 2}},
});

}  // namespace danaus::mix
