// The memory of the device that a convolution takes.
#pragma once

#include <vector>

#include "experiments/cli/environment.hpp"
#include "model/profile.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus {

// Those of Tables 16 and 17 of Fu et al. 2023: N = 256 to 32K with B=64, H=768, without and with gates.
std::vector<Convolution> footprint_cases();

// The result row of a case (schema memory): u, k, gates and y, and what a plan keeps. Throws std::invalid_argument
// where the device has no kernel for it.
Json footprint(const Convolution& problem, const HardwareProfile& profile);

}  // namespace danaus
