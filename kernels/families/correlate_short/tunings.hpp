// None of it has been measured yet; this is what counted work says for an H200. Reading u and dy takes as long as a
// convolution's u and y, 110 clocks of an SM for a tile of 512 samples (toeplitz/tunings.hpp). Products are 2 (4 (J -
// 1) + 2) + 2 of them, at 1.5 clocks: J = 2 21, 3 33, 5 57, 9 106. Fragments come by ldmatrix, four wavefronts each:
// 16, and 16 more for what the copies write. Moves of the window of lags, 2 x 8 (J - 1), are few beside 440 slots.
//   registers     lags 16 (J - 1) + 8 accumulators and half as many of the window: 36, 60, 108, 204, and some 30 beside
// Two streams of 4 KB a warp are under way, so that 20 warps have 160 KB. Channels last a block has eight channels, a
// warp for each: sums of more channels would not stay in registers. Their 16 bytes are half a sector; the other half is
// its neighbour's.
#pragma once

#include <array>

#include "kernels/families/correlate_short/layout.hpp"
#include "kernels/families/kinds.hpp"

namespace danaus::correlate_short {

struct Line {
  bool channels_last;
  int blocks;
  Worth worth;
  Tuning tuning;
  bool total = false;
};

inline constexpr std::array kLines = std::to_array<Line>({
    {false, 2, kChosen, {4, 4, 5}},
    {false, 3, kChosen, {4, 4, 5}},
    {false, 5, kChosen, {4, 4, 3}},
    {false, 9, kChosen, {4, 4, 2}},
    {true, 2, kChosen, {8, 2, 2}},
    {true, 3, kChosen, {8, 2, 2}},
    {true, 5, kChosen, {8, 2, 1}},
    {true, 9, kChosen, {8, 2, 1}},
    {false, 1, kChosen, {8, 0, 1}, true},
    {false, 3, kStudied, {4, 8, 3}},
    {false, 9, kStudied, {4, 8, 2}},
});

}  // namespace danaus::correlate_short
