// Measured on an H200, TF32, complex samples, weights shared, 64 modes, as far as not said otherwise. Times in us.
//
//   layer, few items   One launch in slices of output channels, each of which transforms all inputs: 10 where passes
//                      took 22 (64 to 64 channels, 128 points). Its warps have four tiles to transform, which reads
//                      rows twice instead of four times: 17.8 for 26.6 (128 to 128, 256 points, 16 items). Up to as
//                      many items as multiprocessors: 14.4 for 15.5 with few tiles for a warp (64 to 64, 128 points).
//                      Tables and weights in shared memory, rows brought to L2 at once: 8.3 for 9 (64 to 64, 128
//                      points, one item), 12.1 for 14.4 (128 items). Points on their way through shared memory, one
//                      step at a time: 8.6 for 8.3, 15.6 for 13.9 (128 to 128, 256 points, one item). On an H100
//                      clusters of four slices that transform a quarter of the inputs each and send their spectra to
//                      the others: 13.2 for 14.3 (128 to 128, 256 points, one item), but 9.4 for 9.0 (64 to 64, 128
//                      points) and 29 for 16.7 (128 to 128, 256 points, 16 items), of which 32 clusters do not run at
//                      once.
//   layer, many        Of 8192 items of 256 points, of 32768 of 128. To 64 channels: two teams of four warps that
//                      transform eight tiles, points three or two steps ahead: 1472 for 1967 by blocks whose warps
//                      share an item (64 to 64, 128 points), 731 for 969 (256 points). One step ahead 1701 and 887,
//                      none, with points in registers, 1666 and 955: such loads set out after the last use of the
//                      registers and hide behind one product. Three teams 1719 to 2039 and 1018, four 1747 and 1032. 32
//                      to 64: 1251 for 1408, 618 for 691; four teams 1209, 631. 64 to 128: two teams of eight warps
//                      2586 for 3151, 1333 for 1539; one team in each of two blocks 2653, 1412; one of eight warps with
//                      points three steps ahead 2626, 1356. 128 to 128, whose weights have no room: in the same order
//                      4487 for 4784, 2185 for 2249; 4332, 2273; 5022, 2044. Eight tiles to transform for sixteen
//                      warps, whose registers have no room for them, 4994, 2273.
//   tables             in shared memory: 506 for 552 (64 to 64, 128 points, 8192 items, before there were teams).
//   rows an item ahead in L2: 507 for 571, where the items of all blocks take up to a third of it; with more of it 5012
//                      for 4397 (128 to 128, 128 points), 831 for 731 (64 to 64, 256 points). Of passes there a chunk
//                      ahead, in three fifths of it: 2055 for 2252 of all passes (64 to 64, 256 x 256, 64 items).
//   there              Two teams of four warps, points two steps ahead, chunks of 64 rows: 1977 of all passes for 2359,
//                      one step ahead 2040, two teams of eight warps 2295, 2507 with points one step ahead, whose
//                      registers spill (64 to 64, 256 x 256, 64 items); 1507 for 1618 (128 to 128, 128 x 128, 64
//                      items), as long (64 to 64, 128 x 128, 16 items). Of one item of 64 channels 41 for 35.
//   back               Three teams of four warps: 2261 of all passes for 2623, one of eight in each of two blocks 2293,
//                      two of eight 2505 (64 to 64, 256 x 256, 64 items); 1605 for 1670 (128 to 128, 128 x 128, 64
//                      items). Of one item of 64 channels 48 for 35. Without teams eight tiles to mix: 198 for 227.
//
// Operands in two parts take fewer tiles, so that registers hold them; those, 16 bits and weights of each frequency
// have not been measured, nor have more than 64 modes. Some kernels of 128 registers keep one to four words of a lane
// in local memory, outside of loops. Where the batch of a layer with weights of each frequency is small it goes by
// passes.
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
  std::int64_t items, inputs, outputs, points;  // that it is chosen up to; points of a row
  Tuning tuning;
};

// A layer of one axis with weights of each frequency goes by passes where the batch has fewer items than a device has
// multiprocessors over this.
inline constexpr std::int64_t kPassesBelow = 4;

inline constexpr std::int64_t kLess = 32, kFew = 128, kSome = 256, kAny = std::int64_t{1} << 62;

inline constexpr std::array kLines = std::to_array<Line>({
    {Stage::layer, Operands::tf32, kLess, kAny, kAny, kAny, {16, 4, 1, 1, 1}},
    {Stage::layer, Operands::tf32, kFew, kAny, kAny, kAny, {16, 4, 4, 2, 1}},
    {Stage::layer, Operands::tf32, kAny, 64, 64, 128, {8, 8, 8, 1, 1, 2, 3}},
    {Stage::layer, Operands::tf32, kAny, 64, 64, kAny, {8, 8, 8, 1, 1, 2, 2}},
    {Stage::layer, Operands::tf32, kAny, 64, 128, kAny, {16, 4, 8, 1, 1, 2}},
    {Stage::layer, Operands::tf32, kAny, 128, 128, 128, {8, 4, 8, 1, 2, 1}},
    {Stage::layer, Operands::tf32, kAny, 128, 128, kAny, {8, 8, 8, 1, 1, 1, 3}},
    {Stage::layer, Operands::tf32, kAny, kAny, kAny, kAny, {8, 4, 8, 2, 2}},
    {Stage::layer, Operands::split, kFew, kAny, kAny, kAny, {16, 2, 1, 1, 1}},
    {Stage::layer, Operands::split, kAny, 64, 64, kAny, {8, 2, 4, 1, 2}},
    {Stage::layer, Operands::split, kAny, kAny, kAny, kAny, {8, 2, 8, 1, 2}},
    {Stage::layer, Operands::halves, kFew, kAny, kAny, kAny, {16, 4, 1, 2, 1}},
    {Stage::layer, Operands::halves, kAny, 64, 64, kAny, {8, 4, 4, 2, 2}},
    {Stage::layer, Operands::halves, kAny, kAny, kAny, kAny, {8, 4, 8, 2, 2}},
    {Stage::there, Operands::tf32, kSome, kAny, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::there, Operands::tf32, kAny, kAny, kAny, kAny, {8, 8, 8, 1, 1, 2, 2}},
    {Stage::there, Operands::tf32, kAny, kAny, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::there, Operands::split, kAny, kAny, kAny, kAny, {8, 2, 2, 2, 2}},
    {Stage::there, Operands::halves, kAny, kAny, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::middle, Operands::tf32, kAny, kAny, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::middle, Operands::split, kAny, kAny, kAny, kAny, {8, 4, 2, 2, 2}},
    {Stage::middle, Operands::halves, kAny, kAny, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::back, Operands::tf32, kSome, kAny, kAny, kAny, {8, 4, 8, 2, 2}},
    {Stage::back, Operands::tf32, kAny, kAny, kAny, kAny, {12, 4, 8, 1, 1, 3}},
    {Stage::back, Operands::tf32, kAny, kAny, kAny, kAny, {8, 4, 8, 2, 2}},
    {Stage::back, Operands::split, kAny, kAny, kAny, kAny, {8, 2, 4, 1, 2}},
    {Stage::back, Operands::halves, kAny, kAny, kAny, kAny, {8, 4, 8, 2, 2}},
    {Stage::arrange, Operands::tf32, kAny, kAny, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::arrange, Operands::split, kAny, kAny, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::arrange, Operands::halves, kAny, kAny, kAny, kAny, {8, 4, 4, 2, 2}},
});

}  // namespace danaus::mix
