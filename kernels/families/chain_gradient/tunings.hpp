// Registers have the sums, of 8 bytes a point. 1024 points leave room for 8 warps an SM: 138 us at B=64, H=768.
// All gradients of 256 points with both gates (H200, fp16, circular): 67 us, where launches for each take 117; by
// blocks of two warps 66, of eight 75, of which three on an SM spill, 83. Without gates 33 us, where du and dk take 39.
#pragma once

#include <array>

#include "kernels/families/chain_gradient/layout.hpp"

namespace danaus::chain_gradient {

struct Line {
  int radix;
  bool all;  // makes the gradients of rows, too
  Tuning tuning;
};

inline constexpr std::array kLines = std::to_array<Line>({
    //         all     warps ring blocks
    /*  256 */ {1, false, {8, 4, 3}},
    /*  512 */ {2, false, {8, 2, 2}},
    /*  768 */ {3, false, {8, 2, 1}},
    /*  256 */ {1, true, {4, 4, 4}},
    /*  512 */ {2, true, {4, 2, 4}},
    /*  768 */ {3, true, {8, 2, 1}},
});

}  // namespace danaus::chain_gradient
