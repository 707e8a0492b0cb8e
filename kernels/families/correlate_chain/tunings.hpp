// Registers have the sums, of 8 bytes a point. 1024 points leave room for 8 warps an SM: 138 us at B=64, H=768.
#pragma once

#include <array>

#include "kernels/families/correlate_chain/layout.hpp"

namespace danaus::correlate_chain {

struct Line {
  int radix;
  Tuning tuning;
};

inline constexpr std::array kLines = std::to_array<Line>({
    //        warps ring blocks
    /*  256 */ {1, {8, 4, 3}},
    /*  512 */ {2, {8, 2, 2}},
    /*  768 */ {3, {8, 2, 1}},
});

}  // namespace danaus::correlate_chain
