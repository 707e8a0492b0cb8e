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

// The fields of a result row (schema ways): what is asked; then what each way would take by counted work, the soonest
// first, why there are no others, and why a plan takes another than the soonest.
Json describe(const WaysCase& asked);
Json ways(const WaysCase& asked);

}  // namespace danaus
