// What counted work says for an H200: reading u and dy takes as long as a convolution's u and y, 110 clocks of an SM
// for a tile of 512 samples (toeplitz/tunings.hpp). Products are 2 (4 (J - 1) + 2) + 2 of them, at 1.5 clocks: J = 2
// 21, 3 33, 5 57, 9 106. Fragments come by ldmatrix, four wavefronts each: 16, and 16 more for what the copies write.
// Moves of the window of lags, 2 x 8 (J - 1), are few beside 440 slots.
//   registers     lags 16 (J - 1) + 8 accumulators and half as many of the window: 36, 60, 108, 204, and some 30 beside
// Two streams of 4 KB a warp are under way, so that 20 warps have 160 KB. Channels last a block has a warp for each of
// its channels, since sums of more would not stay in registers, and waits for its streams: the more of their pieces are
// under way at once, the better, and 16 channels are whole sectors. On an H200 (B=64, H=768, L=8K, bf16) du and dk
// take, by four pieces and eight channels, 1782, 3027 and 3641 us for 64, 128 and 256 taps; by all pieces at once and
// eight 1722, 2239 and 3095; of 128 taps by three pieces, which spill less, 2091; of 256 by lines of eight blocks 2883.
// By 16 channels 1579 and 2626, and of 256 taps the sums of 16 have no room.
#pragma once

#include <array>

#include "kernels/families/kinds.hpp"
#include "kernels/families/short_gradient/layout.hpp"

namespace danaus::short_gradient {

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
    {true, 2, kChosen, {16, 4, 1, 9}},
    {true, 3, kChosen, {16, 4, 1, 9}},
    {true, 5, kChosen, {8, 2, 2, 3}},
    {true, 9, kChosen, {8, 8, 1, 9}},
    {false, 1, kChosen, {8, 0, 1}, true},
    {false, 3, kStudied, {4, 8, 3}},
    {false, 9, kStudied, {4, 8, 2}},
});

}  // namespace danaus::short_gradient
