// Measured on an H200, B=64, circular, scaled to H=768, against outer passes of today. 64K: 8.1 ms (10.2); 8 warps 8.9,
// and clusters of 4 with two blocks an SM 9.1. 128K: 18.9 ms (20.7); 64 x 2048 by 8 warps 21.2. 256K: 39.0 ms (42); by
// 16 warps, whose registers spill, 40.9, and 128 x 2048 by 8 warps 39.3. 512K: 95.9 ms (86.6): only 7 clusters of 16
// run at once, on 112 of 132 SMs, and nearly all that is exchanged crosses from SM to SM.
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
    /* 128K */ { 2, 1024,  4, kChosen,  {16, 4, 1}},
    /* 256K */ { 4, 1024,  8, kChosen,  { 8, 2, 1}},
    /* 512K */ { 4, 2048, 16, kStudied, { 8, 2, 1}},
});
// clang-format on

}  // namespace danaus::cluster
