// Not measured yet.
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
    /*  64K */ { 1, 1024,  4, kStudied, { 8, 4, 2}},
    /* 128K */ { 2, 1024,  4, kChosen,  {16, 4, 1}},
    /* 256K */ { 4, 1024,  8, kChosen,  {16, 2, 1}},
    /* 512K */ { 4, 2048, 16, kChosen,  { 8, 2, 1}},
});
// clang-format on

}  // namespace danaus::cluster
