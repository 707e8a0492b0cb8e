// On an H200 (B=64, H=768, bf16). [B, H, L], L=8K: 4 taps 417 us, 1.10 floors; 8 taps 506, where toeplitz takes 419 for
// 16, so 9 taps are there to be compared with. What counted work says: at the rate of a copy an SM has to finish 4.6
// samples a clock (toeplitz/tunings.hpp), for which its four schedulers issue 27.7 thread-instructions a sample. Of
// eight samples: 8 T multiply-adds, 16 conversions of what is read, 4 of y, three accesses, some 12 of addresses: 8.4 a
// sample for T = 4 (30 %), 13.4 for T = 9 (48 %). So memory alone binds, and the chunk before, which is read again,
// comes from L1. With more taps, and wherever they look ahead by what is no multiple of 8, toeplitz has less to do: 70
// instructions a tile of 512 samples are 4.4 a sample.
//
// [B, L, H]: two samples of a lane take 2 T multiply-adds, 2 conversions and some 9 more, of which only what is read
// may wait: the ring keeps three stages of 2 KB of each of 20 warps and more under way. Samples of longer runs lie
// farther apart, those of shorter ones are read again by the next. L=8K and 1K, by runs of 32, 64, 128 samples: 4 taps
// 393 and 53 us, 408 and 54, 426 and 56; 8 taps 547 and 66, 407 and 56, 429 and 58; 16 taps, by 64 and 128, 457 and 64,
// 428 and 63, where toeplitz takes 525 and 73. Lanes of eight channels that load into registers: 412 for 4 taps, 575
// for 9; of four channels 396, 440 for 8, 637 for 16.
//
// Gradients: two more multiply-adds a tap. [B, L, H], L=8K and 1K: 4 taps 642 and 89 us, 8 taps 657 and 104, 16 taps
// 800 and 175, where du and dk each for itself take 1681 for 4 taps and 1657 for 16; runs of 128 and 64 take up to 6 %
// more. [B, H, L] by six, five, four blocks on an SM: 4 taps 600 and 83, 614 and 86, 655 and 95, each for itself 826; 9
// taps by five and four 733 and 105, 739 and 107.
#pragma once

#include <array>

#include "kernels/families/direct/layout.hpp"
#include "kernels/families/kinds.hpp"

namespace danaus::direct {

struct Line {
  bool channels_last;
  int taps;
  Worth worth;
  Tuning tuning;
  bool correlates = false;
  int skipped = 0;
};

inline constexpr std::array kLines = std::to_array<Line>({
    {false, 4, kChosen, {8, 4, 4}},
    {false, 9, kStudied, {8, 4, 4}},
    {true, 4, kChosen, {4, 32, 8, 3}},
    {true, 8, kChosen, {4, 64, 7, 3}},
    {true, 16, kChosen, {4, 128, 5, 4}},
    {false, 4, kChosen, {8, 4, 6}, true, 5},
    {false, 9, kChosen, {8, 4, 5}, true},
    {true, 4, kChosen, {4, 256, 4, 3}, true},
    {true, 8, kChosen, {4, 256, 4, 3}, true},
    {true, 16, kChosen, {4, 256, 3, 3}, true},
    {false, 4, kStudied, {4, 8, 8}},
});

}  // namespace danaus::direct
