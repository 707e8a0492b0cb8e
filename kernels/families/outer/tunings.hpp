// Radix 1, on an H200 (64K samples a row, B=64, H=48, the whole convolution), tiles of 64 columns: {3, 3} 721 us, 65
// more by {2, 4} and {5, 2}; of 128 columns, so that 256 bytes of a row are read at once, {3, 2, 2, 8} 640: a mere copy
// of such tiles takes 235 us by 128 bytes, 211 by 256 and no less by 512. Radix 2 of 64 columns: {2, 2} and {3, 2}
// within 1 %, {4, 1} 25 % slower; radix 3 spills in wider tiles.
#pragma once

#include <array>

#include "kernels/families/outer/layout.hpp"

namespace danaus::outer {

struct Line {
  int radix;
  Tuning tuning;
};

inline constexpr std::array kLines = std::to_array<Line>({
    {1, {3, 2, 2, 8}},
    {2, {3, 1, 2, 16}},
    {3, {2, 2}},
    {4, {2, 1}},
    {5, {2, 1}},
    {7, {2, 1}},
});

}  // namespace danaus::outer
