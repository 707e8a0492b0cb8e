// Radix 1, on an H200 (64K samples a row, B=64, H=48, the whole convolution): {3, 3} 797 us, {2, 4} 848, {2, 6} 810,
// {4, 3} 807, {5, 2} 859. Radix 2: {2, 2} 804, {2, 3} and {3, 2} 807, {4, 1} 1003.
#pragma once

#include <array>

#include "kernels/families/outer/layout.hpp"

namespace danaus::outer {

struct Line {
  int radix;
  Tuning tuning;
};

inline constexpr std::array kLines = std::to_array<Line>({
    {1, {3, 3}},
    {2, {3, 2}},
    {3, {2, 2}},
    {4, {2, 1}},
    {5, {2, 1}},
    {7, {2, 1}},
});

}  // namespace danaus::outer
