// Whether numbers inside a transform stay in f16's range: asked where its scales are made.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "kernels/tile/limits.hpp"

namespace danaus {

// `gains`: the L2 norms of the stages of the forward direction in turn, scales included; the inverse has them in
// reverse. `most`: the largest spectrum over the unitary transform's, 2 where a frequency stands for its mirror too.
// Throws where an item of the greatest energy may leave the range. A spectrum is stored over g^2, g the gain of one
// direction, and is at most 1 or, by a factor of its channel's, most / g^2.
inline void require_room(std::string_view family, const std::vector<double>& gains, double most = 1) {
  double forward = 1, greatest = 1;
  for (double gain : gains) greatest = std::max(greatest, forward *= gain);
  double back = forward * std::max(1., most / (forward * forward));
  greatest = std::max(greatest, back);
  for (auto gain = gains.rbegin(); gain != gains.rend(); ++gain) greatest = std::max(greatest, back *= *gain);
  if (greatest > dynamic_range::kMostGain)
    throw std::logic_error(text(family, ": the stages' gain is ", greatest, ", must be at most ",
                                dynamic_range::kMostGain, ", or f16 may overflow"));
}

}  // namespace danaus
