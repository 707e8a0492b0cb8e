// Measured on an H200, TF32, 1024 items, 64 modes, weights shared: 56 us for 217 where nothing is on its way while
// blocks multiply and each warp stores its own sums (64 to 64 channels), 149 for 565 (128 to 128). Other tiles have not
// been tried.
#pragma once

#include <array>

#include "kernels/families/layer_gradient/layout.hpp"

namespace danaus::layer_gradient {

struct Line {
  Tuning tuning;
};

inline constexpr std::array kLines = std::to_array<Line>({{{2}}});

// Blocks that the work is cut into, where there is as much of it: two for each of 132 multiprocessors. It does not
// follow the device, so that sums have one order.
inline constexpr int kBlocks = 264;

}  // namespace danaus::layer_gradient
