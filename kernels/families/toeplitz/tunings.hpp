// On an H200, B=64, H=768, bf16, in floors. [B, H, L]: L=8K K = 16 1.10, 64 1.08, 128 1.10, 256 1.40;
// 1K 1.31, 1.41, 1.60, 2.11 (62, 66, 75 and 99 us). Channels last, 8K: 1.43, 1.49, 1.57, 1.95. What counted work says:
// at the rate of a copy an SM has to finish 4.6 samples a clock (402.7M samples in 376 us, 132 SMs, 1.75 GHz), a tile
// of 512 in 110 clocks. For J blocks of the filter, of such a tile:
//   products      8 J - 4 of m16n8k16, at the 1.5 clocks that mma.sync was measured to take. Of the tile's clocks J = 2
//                 16 %, 3 27 %, 5 49 %, 9 93 %
//   issue         by the disassembly the products, 16 moves that sums begin with, 8 conversions and 26 else where
//                 blocks follow blocks (J = 2 62), and some 50 of copies; of two blocks at once 213 a line for J = 9.
//                 Where lanes read and wrote 16 bytes of lines, their samples took 8 moves, and a filter 10 J registers
//   shared memory 8 wavefronts each that rows arrive and leave by and that lines are written by; lines are read by 8 (J
//                 - 1 + line) / line
//   registers     8 J - 4 of filter; block by block 8 J of samples and 16 accumulators, of lines at once 8 and 16 for
//                 each block: J = 9 156, of lines of four blocks 140, of two 108, and some 40 beside
// So J = 2 and 3 wait for memory alone; what hides its latency is other warps, 20 to 24 of them, each with a row's part
// of 8 KB under way. J = 5 and 9 wait for products too, of which a scheduler needs two or three warps and each of them
// more than the four that a block has: lines at once have 8 or 16, and leave registers for 12 to 20 warps. J = 9 took
// 616 us block by block of lines of eight, 584 two blocks at a time, 563 by lines of two and 526 by lines of four, the
// next stream coming meanwhile, eight in a run (16 533, 32 547). Lines of four make tiles of 2K, which rows of 1K do
// not fill (157 us, lines of two 99), so there are both. J = 5 took 449 block by block, 413 by lines of two; J = 2 and
// 3 415 and 408 block by block, 424 and 444 by lines of four, of which J = 3 spills.
//
// Channels last a block has tiles of 32 channels, 64 bytes of each sample, by lines of two; the halo comes from L2.
// Products are the same, since what arrives is transposed by stmatrix and what leaves by ldmatrix, without a move. A
// block loads, computes, stores; others do the rest meanwhile. For K = 16 and 256, in us:
//   under way     all pieces of a lane's 537 and 732, half of them 567 and 766: a round through memory less
//   blocks        two of eight warps; three, with registers for half the pieces, 646; three of four warps 710
//   channels      16, 32 bytes of each sample, 881 and 791; 64 need 139 KB or lines of one block: 589 and 595, 907
//   order         blocks of the same time have neighbouring channels; before, with four-byte accesses of shared memory
//                 and four pieces under way, 1200 and 1780
// The next channel's filter comes while one is computed, which registers allow up to J = 3; without, 537 is 539.
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
    {false, 5, kChosen, {4, 2, 1, 16, 5, true}},
    {false, 9, kChosen, {4, 4, 1, 8, 3, true}},
    {false, 9, kChosen, {4, 2, 1, 16, 4, true}},
    {true, 2, kChosen, {8, 2, 4, 1, 2, true, true, 17}},
    {true, 3, kChosen, {8, 2, 4, 1, 2, true, true, 17}},
    {true, 5, kChosen, {8, 2, 4, 1, 2, true, false, 18}},
    {true, 9, kChosen, {8, 2, 4, 1, 2, true, false, 20}},
    // Block by block, and lines at once; more blocks with fewer pieces under way; fewer channels.
    {false, 5, kStudied, {4, 8, 1, 1, 3}},
    {false, 9, kStudied, {4, 8, 1, 8, 2}},
    {true, 2, kStudied, {8, 2, 4, 1, 3, true}},
    {true, 3, kStudied, {4, 2, 2, 1, 6, true}},
    {true, 9, kStudied, {4, 2, 2, 1, 4, true}},
});

}  // namespace danaus::toeplitz
