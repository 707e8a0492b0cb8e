// Measured on an H200, B=64, fp16, scaled to H=768, against outer passes of the same day, in ms; circular and causal.
// 64K: 8.0 and 13.7 (10.2 in outer passes); 8 warps 8.9, clusters of 4 with two blocks an SM 9.1. 128K: 16.8 and 31.5
// (20.8, 35.1); by 16 warps, whose registers spill, 18.0 and 32.4. 256K: 36.9 and 73.6 (42.0, 70.7); by 16 warps 41.0
// and 79.0. Where the next line's spectrum is asked for ahead: 64K 8.3 and 14.9, 128K 16.8 and 32.1, 256K 38.1 and
// 72.9. Where a block's own lines go through the asynchronous path too, 64K 10.9, 128K by 16 warps 21.6, 256K 39.1.
// 512K by clusters of 16 took 93.7 to 95.9 (86.7): only 7 of them run at once, on 112 of 132 SMs, and nearly all that
// is exchanged crosses from SM to SM. By threads samples lose: with both gates 64K takes 19.8 (16.5), 128K 40.2 (33.7),
// and L = 60000 22.2 (17.9), so clusters know no gates and are for whole lines.
#pragma once

#include <array>

#include "kernels/families/cluster/layout.hpp"
#include "kernels/families/kinds.hpp"

namespace danaus::cluster {

struct Line {
  int radix, columns, shares;
  Worth worth;
  Tuning tuning;
};

// clang-format off
inline constexpr std::array kLines = std::to_array<Line>({
    //   N       r  columns
    //                    shares
    //                        worth     warps
    //                                      ring
    //                                         blocks
    /*  64K */ { 1, 1024,  2, kChosen,  {16, 8, 1}},
    /* 128K */ { 2, 1024,  4, kChosen,  { 8, 4, 1}},
    /* 256K */ { 4, 1024,  8, kChosen,  { 8, 2, 1}},
});
// clang-format on

}  // namespace danaus::cluster
