// Registers have the sums, of 8 bytes a point. Not measured yet.
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
    /*  256 */ {1, {8, 3, 2}},
    /*  512 */ {2, {8, 2, 2}},
    /*  768 */ {3, {8, 2, 1}},
    /* 1024 */ {4, {8, 2, 1}},
});

}  // namespace danaus::correlate_chain
