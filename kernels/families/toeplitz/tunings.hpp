// On an H200, B=64, H=768, L=8K, bf16, [B, H, L]: K = 16 418 us, 64 414, 128 559, 256 783, or 1.10, 1.09, 1.47 and 2.07
// floors; channels last K = 16 1200 us, which is to be mended. What counted work says: at the rate of a copy an SM has
// to finish 4.6 samples a clock (402.7M samples in 376 us, 132 SMs, 1.75 GHz), a tile of 512 in 110 clocks. For J
// blocks of the filter, of such a tile:
//   products      8 J of m16n8k16, at the 1.5 clocks that mma.sync was measured to take: 12 J. J = 2 22 %, 3 33 %,
//                 5 56 %, 9 100 % of the tile's clocks
//   issue         by the disassembly 8 J products, 8 moves that make operands of a line's samples, 16 that sums begin
//                 with, 8 conversions, and some 140 of copies and addresses before whole streams were copied as such,
//                 which is not timed. Where pairs of taps were put together for each product and a line's history went
//                 through registers, J = 9 had 200 moves more: 938 us, and J = 5 584. At L = 1K what stands here takes
//                 4 to 7 % longer than that for up to 128 taps (K = 16 76 -> 79), and 16 % less for 256
//   shared memory 8 wavefronts each that rows arrive and leave by, that lines are read by and that they are written by:
//                 32 of 110; 2 to 25 % more for the halo
// So J = 2 to 5 wait for memory alone, and 9 for both. What hides latency is other warps: 16 to 24 of them, each with a
// row's part of 8 KB under way, have more bytes in flight than the 25 KB an SM that the rate of a copy needs. J = 9 has
// registers for 8 warps, too few for some to compute while others wait: so the next stream of 4K comes while one is
// computed, eight in a run, each channel's filter read once; 6 % more halo comes from L2. With the moves that lost to
// lines of 16 blocks without runs (885 us), and has not been compared since.
//   registers     10 J of filter, 8 J of history, 16 accumulators: 52, 70, 106, 178, and some 40 beside
// Longer lines repeat less of the halo, 32 (J - 1) in 512 samples of each block of a line, and make tiles that do not
// fit the end of a row. Channels last, whole tiles of 32 channels (64 bytes, two sectors) wait in shared memory, and
// the halo of short lines comes from L2: 6 % of the samples for J = 3, 25 % for 9.
#pragma once

#include <array>

#include "kernels/families/kinds.hpp"
#include "kernels/families/toeplitz/layout.hpp"

namespace danaus::toeplitz {

struct Line {
  bool channels_last;
  int blocks;
  Worth worth;
  Tuning tuning;
};

inline constexpr std::array kLines = std::to_array<Line>({
    {false, 2, kChosen, {4, 8, 1, 1, 6}},
    {false, 3, kChosen, {4, 8, 1, 1, 5}},
    {false, 5, kChosen, {4, 8, 1, 1, 3}},
    {false, 9, kChosen, {4, 8, 1, 8, 2}},
    {true, 2, kChosen, {4, 2, 4, 1, 3}},
    {true, 3, kChosen, {4, 2, 4, 1, 3}},
    {true, 5, kChosen, {4, 2, 4, 1, 3}},
    {true, 9, kChosen, {4, 2, 4, 1, 2}},
    // Half the bytes under way a warp, and twice; fewer warps, or more; tiles of fewer channels and longer lines.
    {false, 3, kStudied, {4, 4, 1, 1, 5}},
    {false, 3, kStudied, {2, 16, 1, 1, 6}},
    {false, 5, kStudied, {4, 16, 1, 1, 3}},
    {true, 3, kStudied, {8, 2, 4, 1, 2}},
    {true, 3, kStudied, {4, 4, 2, 1, 3}},
    {true, 9, kStudied, {4, 4, 2, 1, 2}},
    // The next stream after this one, and for fewer taps meanwhile.
    {false, 9, kStudied, {4, 16, 1, 1, 2}},
    {false, 3, kStudied, {4, 4, 1, 8, 4}},
    {false, 5, kStudied, {4, 4, 1, 8, 3}},
});

}  // namespace danaus::toeplitz
