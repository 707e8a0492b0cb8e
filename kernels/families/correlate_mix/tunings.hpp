// Not measured against others yet.
#pragma once

#include <array>

#include "kernels/families/correlate_mix/layout.hpp"

namespace danaus::correlate_mix {

struct Line {
  Tuning tuning;
};

inline constexpr std::array kLines = std::to_array<Line>({{{2}}});

// Blocks that the work is cut into, where there is as much of it: two for each of 132 multiprocessors. It does not
// follow the device, so that sums have one order.
inline constexpr int kBlocks = 264;

}  // namespace danaus::correlate_mix
