// Of tiles of a ring so many are in flight that memory is busy; none of it has been measured against another yet.
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
