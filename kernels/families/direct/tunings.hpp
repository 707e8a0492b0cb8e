// On an H200, of [B, H, L] (B=64, H=768, L=8K, bf16): 4 taps 417 us, 1.08 floors; 8 taps 506 us, where toeplitz takes
// 419 for 16, so 9 taps are there to be compared with. What counted work says, not all of it right: at the rate of a
// copy an SM has to finish 4.6 samples a clock (toeplitz/tunings.hpp), for which its four schedulers issue 27.7
// thread-instructions a sample. Of [B, H, L], of eight samples: 8 T multiply-adds, 16 conversions of what is read, 4 of
// y, three accesses, some 12 of addresses: 8.4 a sample for T = 4 (30 %), 13.4 for T = 9 (48 %). Channels last, of 32:
// 32 T multiply-adds, 8 (T + 3) conversions, 4 (T - 1) moves of the window, 16 of y, some 30 of accesses and
// addresses: 7.6 (27 %), 14 (51 %). So memory alone binds, and the chunk before, which is read again, comes from L1.
// Channels last, L=8K and 1K: 412 and 55 us; runs of 64 445 and 59, by 8 at once 416 and 56; with accesses that each
// ask for gates and ends, 522 and 69. The kernel of 9 taps takes 575 for 4, where toeplitz takes 543 for 16. With more
// taps, and wherever they look ahead by what is no multiple of 8, toeplitz has less to do: 70 instructions a tile of
// 512 samples are 4.4 a sample.
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
};

inline constexpr std::array kLines = std::to_array<Line>({
    {false, 4, kChosen, {8, 4, 1, 4}},
    {false, 9, kStudied, {8, 4, 1, 4}},
    {true, 4, kChosen, {4, 32, 4, 4}},
    {true, 9, kStudied, {4, 64, 4, 2}},
    {false, 4, kStudied, {4, 8, 1, 8}},
    {true, 4, kStudied, {4, 64, 8, 3}},
    {true, 9, kStudied, {4, 64, 2, 3}},
});

}  // namespace danaus::direct
