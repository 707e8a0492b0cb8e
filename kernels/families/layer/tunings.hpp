// Measured on an H200, TF32, complex samples, weights shared, 64 modes, as far as not said otherwise. Times in us.
//
//   layer, few items   One launch in slices of output channels, each of which transforms all inputs: 10 where passes
//                      took 22 (64 to 64 channels, 128 points). Eight warps have eight tiles to transform: 7.4 8.2
//                      9.4 (32 to 64, 64 to 64, 128 to 128, 128 points, one item) and 8.5 9.8 12.4 (256 points) for
//                      7.7 8.9 10.4 and 9.0 10.9 14.2 by sixteen with four, which read rows twice and have more
//                      instructions to wait for; four warps 7.7 8.6 13.3, two tiles of points at once 8.0 8.8 10.2. Of
//                      64 items two tiles to mix 8.8 10.0 for 9.4 10.9, but 15.7 for 15.4 (128 to 128). Up to as many
//                      items as multiprocessors: 14.4 for 15.5 with few tiles for a warp (64 to 64, 128 points).
//                      Tables and weights in shared memory, rows brought to L2 at once: 8.3 for 9 (64 to 64, 128
//                      points, one item), 12.1 for 14.4 (128 items). Points on their way through shared memory, one
//                      step at a time: 8.6 for 8.3, 15.6 for 13.9 (128 to 128, 256 points, one item).
//     in clusters      Slices of an item, of which each transforms a share of the inputs and sends its spectra to the
//                      others: 6.8 7.7 9.8 15.4 16.6 for 7.2 9.1 11.8 24 35 (64 to 64 of 128 points; 64 to 64, 128 to
//                      128 of 256; both of 1024; one item), 8.7 10.1 13.1 for 9.3 10.3 14.2 (64 to 64, 64 to 128, 128
//                      to 128 of 256 points, 16 items). On half the multiprocessors at most: eight slices of each of 16
//                      items 9.1 for 7.9 (64 to 128, 128 points), as a cluster waits for all its places at once. Of
//                      more items two tiles to mix: 10.1 13.1 for 10.4 14.8 by one. Not of two tiles of inputs, 7.0 for
//                      7.1 (32 to 64, 256 points), nor where spectra take as long to send as to make: 8.8 for 8.7 (128
//                      to 128, 128 points), but 7.2 for 8.7 of half the frequencies. Of 256 channels two blocks 14.2
//                      for 17.5, four 15.4, eight 16.4 (192 points). Barriers of clusters that release nothing: 9.6 for
//                      10.2 (128 to 128, 256 points).
//   layer, a block     128 to 128: one team of eight warps 22 for 24 (128 points, 128 items), of sixteen 33 for 37 (256
//   for each item      points). 64 to 64 and 64 to 128 as long, or longer. Half as many items are shared out in slices.
//   layer, many        Of 8192 items of 256 points, of 32768 of 128. To 64 channels: two teams of four warps that
//                      transform eight tiles, points three or two steps ahead: 1472 for 1967 by blocks whose warps
//                      share an item (64 to 64, 128 points), 731 for 969 (256 points). One step ahead 1701 and 887,
//                      none, with points in registers, 1666 and 955: such loads set out after the last use of the
//                      registers and hide behind one product. Three teams 1719 to 2039 and 1018, four 1747 and 1032.
//                      32 to 64, of which two teams leave half the warps nothing to transform: four teams of two
//                      warps 1067 285 for 1153 302 (32768 and 8192 items of 128 points), 2097 552 for 2378 617 (256
//                      points), 37 71 for 41 78 (1024 items); 32 to 32 175 361 for 280 446, 16 to 32 146 298 for 252
//                      390 (8192 items of 128 and 256 points). Of 256 items, which keep half the blocks busy, 53 for
//                      49 (rows of 256 x 256).
//                      64 to 128, 8192 items of 128 and 256 points: two teams of four warps 567 and 1266 for 678 and
//                      1294 by two of eight; points one step ahead, not two, 630 (128 points); one team of eight warps
//                      647, 1286.
//                      128 to 128, likewise, whose weights have no room and come from L2: two steps ahead 1637 for 2053
//                      one step ahead (256 points). One team of eight warps; points two steps ahead, not three, 988 for
//                      1056 (128 points) and 1774 for 1637 (256); none 1025. Two teams of four 1020 and 2051, of eight
//                      1135 and 2159; one team in each of two blocks 1088 and 2264. 512 points, whose tables leave no
//                      room for points ahead: 2018 for 2569 by sixteen warps (4096 items).
//   tables             in shared memory: 506 for 552 (64 to 64, 128 points, 8192 items, before there were teams).
//   rows an item ahead in L2: 507 for 571, where the items of all blocks take up to a third of it; with more of it 5012
//                      for 4397 (128 to 128, 128 points), 831 for 731 (64 to 64, 256 points). Of passes there a chunk
//                      ahead, in three fifths of it: 2055 for 2252 of all passes (64 to 64, 256 x 256, 64 items).
//   there              Two teams of four warps, points two steps ahead, chunks of 64 rows: 1977 of all passes for 2359,
//                      one step ahead 2040, two teams of eight warps 2295, 2507 with points one step ahead, whose
//                      registers spill (64 to 64, 256 x 256, 64 items); 1507 for 1618 (128 to 128, 128 x 128, 64
//                      items), as long (64 to 64, 128 x 128, 16 items).
//   back               Three teams of four warps: 2261 of all passes for 2623, one of eight in each of two blocks 2293,
//                      two of eight 2505 (64 to 64, 256 x 256, 64 items); 1605 for 1670 (128 to 128, 128 x 128, 64
//                      items). Of one item of 64 channels 48 for 35. Without teams eight tiles to mix: 198 for 227.
//   two axes, few      Rows there with the product of channels, then a filter, for the passes of planes: 20 22 35 39 48
//   planes             for 31 34 43 58 65 (32 to 64, 64 to 64, 128 to 128, 128 x 128; 32 to 64, 64 to 64, 256 x 256;
//                      one item); rows as a layer, then columns in place, took 21 23 37 50 57. Up to 4 Mi samples of y,
//                      which L2 keeps: 28 32 49 55 for 36 42 49 59 (32 to 64 and 64 to 64, two and four items of 128 x
//                      128); of 8 Mi 102 75 88 94 for 111 75 89 91. 16 bits 17 18 24 28 32 for 25 26 31 43 44; of 8 Mi
//                      59 for 55. In two parts 30 34 60 66 75 for 111 113 129 284 289; of 16 Mi 254 333 393 for 311 353
//                      387.
//     there            128 items of 128 points: one block of eight tiles, two to mix, 20.3 21.7 for 20.9 22.7 by two
//                      blocks with half the frequencies each and 21.8 24.0 by a team (32 to 64, 64 to 64), but 36.8 for
//                      36.2 (128 to 128). 256 items of 256 points by two teams: 40.8 48.8 for 41.6 54.3 and, by one,
//                      46.8 54.9. Up to 128 planes by a team: 31 34 43 58 65 for 33 36 45 66 75; 256 planes by two 59
//                      for 63. Real samples neither: 34 47 for 35 60 by one team, 38 53 by two (64 to 64, 128 x 128, 32
//                      modes with weights each, one and four items). In two parts 30 34 60 for 34 39 61 by two teams,
//                      but 70 83 for 66 75 (256 points). 16 bits 17.0 17.9 24.2 for 17.5 19.0 25.8, but 30 34 for
//                      28 32.
//     filter           As many slices as run at once; twice as many 27 29 44 48 60 for 21 23 38 44 57. Four tiles of
//                      frequencies, one of points each way 20.7 22.8 35.2 40.4 53.8; two of points back 20.9 22.7 36.2
//                      41.6 54.3, there too 22.3 23.7 39.2 43.1 55.6; eight of frequencies, whose points warps share
//                      out, 20.8 22.7 35.4 43.9 58.0; two 22.8 25.2 37.6 44.8 58.7; 16 warps 21.3 23.7 36.5 41.7 56.4;
//                      four warps in each of two blocks 22.2 24.5 40.2 46.0 59.4. All wait for their instructions, of
//                      which each warp needs most once: a quarter of the time of the filter by itself.
//
// Operands in two parts; 1024 items of 64 channels of 128 and 256 points, of 128 of 128 points:
//   layer, few items   Eight warps with eight tiles 9.1 11.0 14.8 11.1 14.3 20.7 for 10.4 13.2 20.3 13.7 18.6 30.5 by
//                      sixteen with two, with four 9.3 11.6 17.8 11.8 15.8 25.4 (of the same one item as above); 64
//                      items 12.3 15.4 31.7 for 12.5 16.1 33.2, 128 items 22.6 57.1 for 22.3 52.4 (64 to 64, 128 to
//                      128, 128 points).
//     in clusters      8.9 10.6 13.8 for 10.5 13.9 20.3 (64 to 64 of 128 points; 64 to 64, 128 to 128 of 256; one
//                      item), 11.7 20.0 for 14.2 22.6 (the latter, 16 items), two tiles to mix, by one 11.5 21.5.
//   layer              Two teams of four warps, eight tiles, points two steps ahead: 100 160 253 for 128 208 300
//                      without teams. Three steps ahead 108 164 351, four tiles 111 175 273, four teams 109 190 337,
//                      one team 130 194 271. Sums of two products at once, and second parts that only products round:
//                      128 208 300 for 145 241 356.
//   there, back        All passes of 16 items of 128 x 128 and 256 x 256 points: there two teams, one step ahead, back
//                      four teams 357 844 for 401 1071. There two steps ahead 363 857, without teams 369 929; back two
//                      teams 361 861, none 385 916. There without a product, as for gradients, 120 179 (two of 128 and
//                      of 256 points) by eight tiles, 121 202 by four.
// 16 bits, of the same sizes:
//   layer, few items   To 64 channels eight warps with four tiles 6.6 6.7 for 7.0 7.8 by sixteen, with eight 6.6 7.2;
//                      to 128 with eight 7.6 9.2, with four 8.6 10.9, by sixteen 8.2 10.1 (128 points, one item; 256
//                      points, 16 items). 64 items 7.3 7.9 for 7.3 8.5, but 11.9 for 10.8 (128 to 128).
//     in clusters      6.4 7.3 for 6.9 7.7 (64 to 64, 128 to 128, 256 points, one item), but 6.1 for 5.8 (64 to 64, 128
//                      points) and 9.0 for 8.5 (128 to 128, 256 points, 16 items).
//   layer              The same two teams 35 52 71 for 38 64 80; three steps ahead 35 56 81, one 34 56 71; three teams
//                      45 69 89, four 43 68 96.
//   there              The same, one step ahead, 121 254 for 124 304; two 127 249. Back in teams is no better.
// Weights of each frequency, few of those, real samples, TF32; all passes of 32 items of 64 channels of 128 x 128
// points and 16 modes, of 20 of 32 of 64 x 64 and 12, of 16 of 32 of 256 x 256 and 12; of 1, 32, 256 items of 1024
// points:
//   there              Two tiles, and registers for four blocks at once: 169 37 153 for 180 40 151 with two blocks, 255
//                      47 250 in teams. Rows of few items by 16 warps, which share out the points: 24 for 28 (32
//                      items), 75 for 87 (256). One warp for each tile took 26 of 50 (32 items) there. In two parts,
//                      blocks of four warps 188 42 155 for 212 48 159, but 101 for 82 (256 items); in 16 bits 128 35 90
//                      for 138 38 90. Few planes likewise: in two parts 24 46 31 for 30 69 59 by 16 warps (one item of
//                      64 channels of 128 x 128 and 256 x 256, of 32 of 256 x 256), 28 60 for 33 64 (two of 64), but 46
//                      101 for 42 94 (four); in 16 bits 20 21 30 for 22 24 31 by eight (one, two, four of 64 of 128 x
//                      128), 22 25 34 for 33 36 42 by 16 (one of 32, one and two of 64 of 256 x 256). Where no product
//                      follows, in 16 bits, four warps up to 32 frequencies: gradients of 32 items of 64 channels of
//                      1024 points 45 for 51.
//   middle             Blocks have slices of the channels too: 10 for 23 of its own time (32 items). 16 warps 21.2 for
//                      23.9; in two parts 24 46 for 28 50 (one item of 64 channels of 128 x 128, 256 x 256), 17.6 for
//                      17.0 (of 32 of 64 x 64).
//   back               Two tiles 180 for 205 (128 x 128). Blocks of four warps 162 for 167, but 107 for 75 (256 items).
//                      16 warps 15.2 for 16.4 (one item), 22.5 for 23.9 (32). In 16 bits 24 27 35 by 16 warps for 22 25
//                      34 (one item of 32, one and two of 64 channels of 256 x 256).
//   one launch         Of one, two, four, eight items a block, the columns of a product, for which weights are read
//                      once, of which plan/spectral_passes.cpp chooses. 1024 items of 64 channels, 16 modes: 128 points
//                      80 55 44 60, passes 57; 256 complex points 145 122 109 147, passes 161. 256 of 1024 points 78
//                      132 116 163, passes 75. 512 of 128 channels of 256 points 153 108 140 140, passes 113. 512 of 32
//                      of 128, 32 modes: 29 20 22 24, passes 29. In two parts, which passes have sooner: 156 93 63 83,
//                      passes 64; 201 157 124 170, 130; 97 154 124 164, 81; 283 178 217 216, 135; 49 31 37 38, 38. 16
//                      bits: 59 38 27 35, 43; 88 70 59 89, 92; 43 69 63 89, 50; 88 60 80 80, 69; 23 15 16 15, 24. Few
//                      and long rows: one item of 64 channels of 1024 points 16.9, passes 14.6, eight 16.8, 17.0; in
//                      two parts 19.3, 17.7, 19.2, 21; 16 bits 11.6, 15.5, 11.7, 19.8.
//   tables             Those that a block of passes reads once are not in shared memory: 14.6 for 15.4 (one item of
//                      1024 points); of one launch 9.4 for 9.0 (weights shared, 128 points).
//   complex            samples of 16 bits, whose narrow blocks back spill: wide ones 29.5 for 34.2 (256 items of 64
//                      channels of 256 points), 18.2 for 21 (64 of 128 points), 41.6 for 45.5 (20 of 32 of 64 x 64).
//
// More than 64 modes have not been measured. Some kernels of 128 registers keep one to four words of a lane in local
// memory, outside of loops.
#pragma once

#include <array>

#include "kernels/families/layer/layout.hpp"

namespace danaus::layer {

enum class Operands { tf32, split, halves };  // of products

constexpr Operands operands_of(Dtype dtype, bool tf32) {
  return dtype != Dtype::f32 ? Operands::halves : tf32 ? Operands::tf32 : Operands::split;
}

// What a line is chosen for: real samples, complex ones, transforms that no product of channels follows.
struct Use {
  bool real = true, complex = true, alone = true;
};
inline constexpr Use kReal{true, false, true}, kMixed{true, true, false}, kComplexMixed{false, true, false};

struct Line {
  Stage stage;
  Operands operands;
  std::int64_t items, inputs, outputs, points, frequencies;  // that it is chosen up to; points of a row
  Tuning tuning;
  Use use = {};
  constexpr bool takes(const Key& key) const {
    return (key.complex ? use.complex : use.real) && (use.alone || key.product != Product::none);
  }
};

// Numbers of weights of each frequency that a row of outputs takes, over those of a row of inputs.
constexpr std::int64_t weights_per_row(std::int64_t frequencies, std::int64_t outputs, std::int64_t row_numbers) {
  return 2 * frequencies * outputs / row_numbers;
}
// A layer of one axis with such weights is one launch where it has few points, or few weights for each row and item of
// a block; of fp32 samples of long rows only where these are neither few nor many.
constexpr std::int64_t few_points(Operands operands) { return operands == Operands::split ? 1 << 16 : 1 << 20; }
constexpr std::int64_t few_weights(Operands operands) {
  return operands == Operands::halves ? 32 : operands == Operands::tf32 ? 16 : 4;
}
inline constexpr std::int64_t kLongRow = 512;
// A layer of two axes whose weights are shared goes rows first up to so many samples of outputs.
constexpr std::int64_t few_samples(Operands operands) { return operands == Operands::split ? 1 << 24 : 1 << 22; }

inline constexpr std::int64_t kFewest = 4, kFewer = 8, kLess = 32, kHalf = 64, kFew = 128, kSome = 256,
                              kAny = std::int64_t{1} << 62;

inline constexpr std::array kLines = std::to_array<Line>({
    {Stage::layer, Operands::tf32, kFewer, 64, kAny, kAny, kAny, {8, 8, 1, 1, 1, 0, 0, true}, kComplexMixed},
    {Stage::layer, Operands::tf32, kFewer, kAny, kAny, kAny, 32, {8, 8, 1, 1, 1, 0, 0, true}, kComplexMixed},
    {Stage::layer, Operands::tf32, kLess, kAny, kAny, kAny, 32, {16, 4, 1, 1, 1}},
    {Stage::layer, Operands::tf32, kLess, kAny, kAny, 128, kAny, {8, 8, 1, 1, 1}},
    {Stage::layer, Operands::tf32, kFewer, kAny, kAny, kAny, kAny, {8, 8, 1, 1, 1, 0, 0, true}, kComplexMixed},
    {Stage::layer, Operands::tf32, 16, kAny, kAny, kAny, kAny, {8, 8, 2, 1, 1, 0, 0, true}, kComplexMixed},
    {Stage::layer, Operands::tf32, kLess, kAny, kAny, kAny, kAny, {8, 8, 1, 1, 1}},
    {Stage::layer, Operands::tf32, kHalf, kAny, kAny, kAny, 32, {16, 4, 4, 2, 1}},
    {Stage::layer, Operands::tf32, kHalf, 64, 64, kAny, kAny, {8, 8, 2, 1, 1}},
    {Stage::layer, Operands::tf32, kHalf, kAny, kAny, kAny, kAny, {16, 4, 4, 2, 1}},
    {Stage::layer, Operands::tf32, kFew, 64, 128, kAny, kAny, {16, 4, 4, 2, 1}},
    {Stage::layer, Operands::tf32, kFew, 128, 128, 128, kAny, {8, 8, 8, 1, 1, 1, 3}},
    {Stage::layer, Operands::tf32, kFew, 128, 128, kAny, kAny, {16, 4, 8, 1, 1, 1}},
    {Stage::layer, Operands::tf32, kFew, kAny, kAny, kAny, kAny, {16, 4, 4, 2, 1}},
    {Stage::layer, Operands::tf32, kSome, 32, 64, kAny, kAny, {8, 8, 8, 1, 1, 2, 2}},
    {Stage::layer, Operands::tf32, kAny, 32, 64, kAny, kAny, {8, 8, 8, 1, 1, 4, 2}},
    {Stage::layer, Operands::tf32, kAny, 64, 64, 128, kAny, {8, 8, 8, 1, 1, 2, 3}},
    {Stage::layer, Operands::tf32, kAny, 64, 64, kAny, kAny, {8, 8, 8, 1, 1, 2, 2}},
    {Stage::layer, Operands::tf32, kAny, 64, 128, 128, kAny, {8, 8, 8, 1, 1, 2, 2}},
    {Stage::layer, Operands::tf32, kAny, 64, 128, kAny, kAny, {8, 8, 8, 1, 1, 2, 1}},
    {Stage::layer, Operands::tf32, kAny, 128, 128, 128, kAny, {8, 8, 8, 1, 1, 1, 2}},
    {Stage::layer, Operands::tf32, kAny, 128, 128, 256, kAny, {8, 8, 8, 1, 1, 1, 3}},
    {Stage::layer, Operands::tf32, kAny, 128, 128, kAny, kAny, {16, 4, 8, 1, 1, 1}},
    {Stage::layer, Operands::tf32, kAny, kAny, kAny, kAny, kAny, {8, 4, 8, 2, 2}},
    {Stage::layer, Operands::split, kFew, kAny, kAny, kAny, 32, {16, 2, 1, 1, 1}},
    {Stage::layer, Operands::split, 16, kAny, kAny, kAny, kAny, {8, 8, 2, 1, 1, 0, 0, true}, kComplexMixed},
    {Stage::layer, Operands::split, kHalf, kAny, kAny, kAny, kAny, {8, 8, 1, 1, 1}},
    {Stage::layer, Operands::split, kFew, kAny, kAny, kAny, kAny, {16, 2, 1, 1, 1}},
    {Stage::layer, Operands::split, kAny, kAny, kAny, kAny, kAny, {8, 8, 8, 1, 1, 2, 2}},
    {Stage::layer, Operands::split, kAny, 64, 64, kAny, kAny, {8, 2, 4, 1, 2}},
    {Stage::layer, Operands::split, kAny, kAny, kAny, kAny, kAny, {8, 2, 8, 1, 2}},
    {Stage::layer, Operands::halves, kFew, kAny, kAny, kAny, 32, {16, 4, 1, 2, 1}},
    {Stage::layer, Operands::halves, kHalf, 64, 64, 128, kAny, {8, 4, 1, 2, 1}},
    {Stage::layer, Operands::halves, kLess, kAny, kAny, 128, kAny, {8, 8, 1, 2, 1}},
    {Stage::layer, Operands::halves, kFewer, kAny, kAny, kAny, kAny, {8, 8, 1, 2, 1, 0, 0, true}, kComplexMixed},
    {Stage::layer, Operands::halves, kHalf, 64, 64, kAny, kAny, {8, 4, 1, 2, 1}},
    {Stage::layer, Operands::halves, kLess, kAny, kAny, kAny, kAny, {8, 8, 1, 2, 1}},
    {Stage::layer, Operands::halves, kFew, kAny, kAny, kAny, kAny, {16, 4, 1, 2, 1}},
    {Stage::layer, Operands::halves, kAny, kAny, kAny, kAny, kAny, {8, 8, 8, 2, 1, 2, 2}},
    {Stage::layer, Operands::halves, kAny, 64, 64, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::layer, Operands::halves, kAny, kAny, kAny, kAny, kAny, {8, 4, 8, 2, 2}},
    {Stage::there, Operands::tf32, kSome, kAny, kAny, kAny, 16, {16, 2, 2, 2, 1}},
    {Stage::there, Operands::tf32, kAny, kAny, kAny, kAny, 16, {8, 2, 2, 2, 4}},
    {Stage::there, Operands::tf32, kSome, kAny, kAny, kAny, 32, {8, 4, 4, 2, 2}},
    {Stage::there, Operands::tf32, kFew, 64, kAny, 128, kAny, {8, 8, 2, 1, 1}, kComplexMixed},
    {Stage::there, Operands::tf32, kFew, 128, kAny, 128, kAny, {8, 4, 4, 2, 2}, kComplexMixed},
    {Stage::there, Operands::tf32, kFew, kAny, kAny, kAny, kAny, {8, 8, 8, 1, 1, 1, 2}, kComplexMixed},
    {Stage::there, Operands::tf32, kSome, kAny, kAny, kAny, kAny, {8, 4, 4, 2, 2}, kReal},
    {Stage::there, Operands::tf32, kAny, kAny, kAny, kAny, kAny, {8, 8, 8, 1, 1, 2, 2}},
    {Stage::there, Operands::tf32, kAny, kAny, kAny, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::there, Operands::split, kFew, kAny, kAny, kAny, 16, {16, 2, 2, 2, 1}},
    {Stage::there, Operands::split, kAny, kAny, kAny, 256, 16, {4, 2, 2, 2, 4}},
    {Stage::there, Operands::split, kAny, kAny, kAny, kAny, 16, {8, 2, 2, 2, 2}},
    {Stage::there, Operands::split, kFew, kAny, kAny, 128, kAny, {8, 8, 4, 1, 1}, kComplexMixed},
    {Stage::there, Operands::split, kAny, kAny, kAny, kAny, kAny, {8, 8, 8, 1, 1, 2, 1}},
    {Stage::there, Operands::split, kAny, kAny, kAny, kAny, kAny, {8, 8, 4, 1, 1}},
    {Stage::there, Operands::halves, kSome, kAny, kAny, 128, 32, {8, 4, 4, 2, 2}, kMixed},
    {Stage::there, Operands::halves, kSome, kAny, kAny, kAny, 32, {16, 4, 4, 2, 1}, kMixed},
    {Stage::there, Operands::halves, kAny, kAny, kAny, kAny, 32, {4, 4, 4, 2, 4}},
    {Stage::there, Operands::halves, kFew, kAny, kAny, kAny, kAny, {8, 8, 4, 2, 1}, kComplexMixed},
    {Stage::there, Operands::halves, kAny, kAny, kAny, kAny, kAny, {8, 8, 8, 2, 1, 2, 1}},
    {Stage::there, Operands::halves, kAny, kAny, kAny, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::middle, Operands::tf32, kLess, kAny, kAny, kAny, 64, {16, 4, 4, 2, 1}},
    {Stage::middle, Operands::tf32, kAny, kAny, kAny, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::middle, Operands::split, kFewest, kAny, kAny, kAny, kAny, {16, 4, 4, 2, 1}},
    {Stage::middle, Operands::split, kAny, kAny, kAny, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::middle, Operands::halves, kAny, kAny, kAny, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::back, Operands::tf32, kAny, kAny, kAny, 128, 16, {4, 2, 2, 2, 4}},
    {Stage::back, Operands::tf32, kSome, kAny, kAny, kAny, 16, {16, 2, 1, 2, 1}},
    {Stage::back, Operands::tf32, kAny, kAny, kAny, kAny, 16, {8, 2, 2, 2, 2}},
    {Stage::back, Operands::tf32, kSome, kAny, kAny, kAny, kAny, {8, 4, 8, 2, 2}},
    {Stage::back, Operands::tf32, kAny, kAny, kAny, kAny, kAny, {12, 4, 8, 1, 1, 3}},
    {Stage::back, Operands::tf32, kAny, kAny, kAny, kAny, kAny, {8, 4, 8, 2, 2}},
    {Stage::back, Operands::split, kAny, kAny, kAny, kAny, 16, {8, 2, 2, 2, 2}},
    {Stage::back, Operands::split, kAny, kAny, kAny, kAny, kAny, {16, 4, 8, 1, 1, 4}},
    {Stage::back, Operands::split, kAny, kAny, kAny, kAny, kAny, {8, 2, 4, 1, 2}},
    {Stage::back, Operands::halves, kAny, kAny, kAny, 128, 32, {4, 4, 4, 4, 4}, kReal},
    {Stage::back, Operands::halves, kAny, kAny, kAny, kAny, 32, {8, 4, 4, 4, 2}, kReal},
    {Stage::back, Operands::halves, kAny, kAny, kAny, kAny, kAny, {8, 4, 8, 2, 2}},
    {Stage::filter, Operands::tf32, kAny, kAny, kAny, kAny, kAny, {8, 4, 1, 1, 1}},
    {Stage::filter, Operands::split, kAny, kAny, kAny, kAny, kAny, {8, 4, 1, 1, 1}},
    {Stage::filter, Operands::halves, kAny, kAny, kAny, kAny, kAny, {8, 4, 2, 2, 1}},
    {Stage::arrange, Operands::tf32, kAny, kAny, kAny, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::arrange, Operands::split, kAny, kAny, kAny, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::arrange, Operands::halves, kAny, kAny, kAny, kAny, kAny, {8, 4, 4, 2, 2}},
});

}  // namespace danaus::layer
