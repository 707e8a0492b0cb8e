// Which way a long convolution goes soonest on a device: fused, by outer passes, or piece by piece.
#pragma once

#include <vector>

#include "experiments/cli/environment.hpp"
#include "model/profile.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus {

struct WaysCase {
  Convolution asked;
  HardwareProfile profile;
};

// Of a convolution that leaves the way open. Throws std::invalid_argument where it is none, or says the way.
WaysCase ways_case(const Case& asked, const HardwareProfile& profile);

// Causal, in fp16, of 256 to 4M samples, on each device: filters as long as the row, and of 2K and of 256 taps.
std::vector<WaysCase> ways_cases(const std::vector<HardwareProfile>& profiles);

// Fields of a result row (schema ways). The first function gives what is asked. The second gives the predicted time of
// each way by counted work, the soonest first. It also says why other ways are missing, and why a plan does not take
// the soonest.
Json describe(const WaysCase& asked);
Json ways(const WaysCase& asked);

}  // namespace danaus
