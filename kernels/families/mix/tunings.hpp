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
//                      49 (two axes, below).
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
//                      items), as long (64 to 64, 128 x 128, 16 items). Of one item of 64 channels 41 for 35.
//   back               Three teams of four warps: 2261 of all passes for 2623, one of eight in each of two blocks 2293,
//                      two of eight 2505 (64 to 64, 256 x 256, 64 items); 1605 for 1670 (128 to 128, 128 x 128, 64
//                      items). Of one item of 64 channels 48 for 35. Without teams eight tiles to mix: 198 for 227.
//   two axes, one      Rows as a layer, then columns in place, for the passes of planes: 21 23 37 49 56 for 33 37 45 66
//   after the other    76 (32 to 64, 64 to 64, 128 to 128, 128 x 128; 32 to 64, 64 to 64, 256 x 256; one item). Up to 4
//                      Mi samples of y, which L2 keeps: 48 60 65 for 52 64 67 (32 to 64 and 64 to 64, four items, 128
//                      to 128, two, 128 x 128); of 8 Mi 90 111 123 122 for 85 106 118 108. 16 bits 17 18 25 28 31 for
//                      25 26 31 43 44; of 8 Mi 54 58 for 53 55. In two parts 31 36 78 83 91 for 115 118 135 292 298; of
//                      8 Mi 180 228 for 304 310.
//   columns            One tile of points at once 21 23 37 50 57 for 25 27 42 54 61 with two; 16 warps 26 27 43 59 66,
//                      with two tiles of points 27 28 43 55 63; two tiles of frequencies, which reads twice, 22 24 41
//                      63 63; eight 25 27 43 65 68; four blocks of four warps 25 27 48 77 79; with fewer, larger
//                      slices 26 28 46 69 76. In two parts four tiles and one of points 31 36 83 91 for 32 37 87 94 by
//                      two and two.
//
// Operands in two parts; 1024 items of 64 channels of 128 and 256 points, of 128 of 128 points:
//   layer              Two teams of four warps, eight tiles, points two steps ahead: 100 160 253 for 128 208 300
//                      without teams. Three steps ahead 108 164 351, four tiles 111 175 273, four teams 109 190 337,
//                      one team 130 194 271. Sums of two products at once, and second parts that only products round:
//                      128 208 300 for 145 241 356.
//   there, back        All passes of 16 items of 128 x 128 and 256 x 256 points: there two teams, one step ahead, back
//                      four teams 357 844 for 401 1071. There two steps ahead 363 857, without teams 369 929; back two
//                      teams 361 861, none 385 916. There without a product, as for gradients, 120 179 (two of 128 and
//                      of 256 points) by eight tiles, 121 202 by four.
// 16 bits, of the same sizes:
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
//                      128), 22 25 34 for 33 36 42 by 16 (one of 32, one and two of 64 of 256 x 256).
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

#include "kernels/families/mix/layout.hpp"

namespace danaus::mix {

enum class Operands { tf32, split, halves };  // of products

constexpr Operands operands_of(Dtype dtype, bool tf32) {
  return dtype != Dtype::f32 ? Operands::halves : tf32 ? Operands::tf32 : Operands::split;
}

struct Line {
  Stage stage;
  Operands operands;
  std::int64_t items, inputs, outputs, points, frequencies;  // that it is chosen up to; points of a row
  Tuning tuning;
  bool complex_samples = true;  // whether it is made for them too
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
// A layer of two axes whose weights are shared goes one axis after the other up to so many samples of outputs.
constexpr std::int64_t few_samples(Operands operands) { return operands == Operands::split ? 1 << 23 : 1 << 22; }

inline constexpr std::int64_t kFewest = 4, kLess = 32, kHalf = 64, kFew = 128, kSome = 256,
                              kAny = std::int64_t{1} << 62;

inline constexpr std::array kLines = std::to_array<Line>({
    {Stage::layer, Operands::tf32, kLess, kAny, kAny, kAny, kAny, {16, 4, 1, 1, 1}},
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
    {Stage::layer, Operands::split, kFew, kAny, kAny, kAny, kAny, {16, 2, 1, 1, 1}},
    {Stage::layer, Operands::split, kAny, kAny, kAny, kAny, kAny, {8, 8, 8, 1, 1, 2, 2}},
    {Stage::layer, Operands::split, kAny, 64, 64, kAny, kAny, {8, 2, 4, 1, 2}},
    {Stage::layer, Operands::split, kAny, kAny, kAny, kAny, kAny, {8, 2, 8, 1, 2}},
    {Stage::layer, Operands::halves, kFew, kAny, kAny, kAny, kAny, {16, 4, 1, 2, 1}},
    {Stage::layer, Operands::halves, kAny, kAny, kAny, kAny, kAny, {8, 8, 8, 2, 1, 2, 2}},
    {Stage::layer, Operands::halves, kAny, 64, 64, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::layer, Operands::halves, kAny, kAny, kAny, kAny, kAny, {8, 4, 8, 2, 2}},
    {Stage::there, Operands::tf32, kSome, kAny, kAny, kAny, 16, {16, 2, 2, 2, 1}},
    {Stage::there, Operands::tf32, kAny, kAny, kAny, kAny, 16, {8, 2, 2, 2, 4}},
    {Stage::there, Operands::tf32, kSome, kAny, kAny, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::there, Operands::tf32, kAny, kAny, kAny, kAny, kAny, {8, 8, 8, 1, 1, 2, 2}},
    {Stage::there, Operands::tf32, kAny, kAny, kAny, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::there, Operands::split, kFew, kAny, kAny, kAny, 16, {16, 2, 2, 2, 1}},
    {Stage::there, Operands::split, kAny, kAny, kAny, 256, 16, {4, 2, 2, 2, 4}},
    {Stage::there, Operands::split, kAny, kAny, kAny, kAny, 16, {8, 2, 2, 2, 2}},
    {Stage::there, Operands::split, kAny, kAny, kAny, kAny, kAny, {8, 8, 8, 1, 1, 2, 1}},
    {Stage::there, Operands::split, kAny, kAny, kAny, kAny, kAny, {8, 8, 4, 1, 1}},
    {Stage::there, Operands::halves, kSome, kAny, kAny, 128, 32, {8, 4, 4, 2, 2}},
    {Stage::there, Operands::halves, kSome, kAny, kAny, kAny, 32, {16, 4, 4, 2, 1}},
    {Stage::there, Operands::halves, kAny, kAny, kAny, kAny, 32, {4, 4, 4, 2, 4}},
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
    {Stage::back, Operands::halves, kAny, kAny, kAny, 128, 32, {4, 4, 4, 4, 4}, false},
    {Stage::back, Operands::halves, kAny, kAny, kAny, kAny, 32, {8, 4, 4, 4, 2}, false},
    {Stage::back, Operands::halves, kAny, kAny, kAny, kAny, kAny, {8, 4, 8, 2, 2}},
    {Stage::columns, Operands::tf32, kAny, kAny, kAny, kAny, kAny, {8, 4, 4, 1, 2}},
    {Stage::columns, Operands::split, kAny, kAny, kAny, kAny, kAny, {8, 4, 4, 1, 2}},
    {Stage::columns, Operands::halves, kAny, kAny, kAny, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::arrange, Operands::tf32, kAny, kAny, kAny, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::arrange, Operands::split, kAny, kAny, kAny, kAny, kAny, {8, 4, 4, 2, 2}},
    {Stage::arrange, Operands::halves, kAny, kAny, kAny, kAny, kAny, {8, 4, 4, 2, 2}},
});

}  // namespace danaus::mix
