// On an H200 (B=64, H=768, bf16). [B, H, L], L=8K: 4 taps 417 us, 1.10 floors; 8 taps 506, where toeplitz takes 419 for
// 16, so 9 taps are there to be compared with. What counted work says: at the rate of a copy an SM has to finish 4.6
// samples a clock (toeplitz/tunings.hpp), for which its four schedulers issue 27.7 thread-instructions a sample. Of
// eight samples: 8 T multiply-adds, 16 conversions of what is read, 4 of y, three accesses, some 12 of addresses: 8.4 a
// sample for T = 4 (30 %), 13.4 for T = 9 (48 %). So memory alone binds, and the chunk before, which is read again,
// comes from L1. With more taps, and wherever they look ahead by what is no multiple of 8, toeplitz has less to do: 70
// instructions a tile of 512 samples are 4.4 a sample.
//
// [B, L, H]: two samples of a lane take 2 T multiply-adds, 2 conversions and some 9 more, of which only what is read
// may wait: the ring keeps three stages of 2 KB of each of 20 warps and more under way. L=8K and 1K, by runs of 128: 4
// taps 426 and 56 us, 8 taps 429 and 58, 16 taps 428 and 63, where toeplitz takes 525 and 73; by runs of 256, whose
// samples lie farther apart, 444, 446 and 440 at 8K. Runs of 64, which 4 taps have now, are not timed yet. Lanes of
// eight channels that load into registers: 412 for 4 taps, 575 for 9; of four channels 396, 440 for 8, 637 for 16.
//
// Gradients: two more multiply-adds a tap. [B, L, H], L=8K and 1K: 4 taps 643 and 89 us, 8 taps 664 and 104, 16 taps
// 770 and 173, where du and dk each for itself take 1681 for 4 taps and 1657 for 16. [B, H, L], 4 taps by the kernel of
// 9: 737 and 106 by four blocks on an SM, 827 and 123 by three, 966 and 149 by two; each for itself 826.
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
    {true, 4, kChosen, {4, 64, 8, 3}},
    {true, 8, kChosen, {4, 128, 7, 3}},
    {true, 16, kChosen, {4, 128, 5, 4}},
    {false, 4, kChosen, {8, 4, 4}, true, 5},
    {false, 9, kChosen, {8, 4, 4}, true},
    {true, 4, kChosen, {4, 256, 4, 3}, true},
    {true, 8, kChosen, {4, 256, 4, 3}, true},
    {true, 16, kChosen, {4, 256, 3, 3}, true},
    {false, 4, kStudied, {4, 8, 8}},
});

}  // namespace danaus::direct
