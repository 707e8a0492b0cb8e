// The memory of the device that a case takes.
#pragma once

#include <vector>

#include "experiments/cli/environment.hpp"
#include "model/profile.hpp"
#include "reference/operation.hpp"

namespace danaus {

// Those of Tables 16 and 17 of Fu et al. 2023: N = 256 to 4M with B=64, H=768, without and with gates.
std::vector<Case> footprint_cases();

// The result row of a case of any operation (schema memory): its arrays, what a plan keeps and what it needs between
// its launches; and the largest batch with which all of it fits the device, whose memory the profile has. Throws
// std::invalid_argument where the device has no kernel for it.
Json footprint(const Case& asked, const HardwareProfile& profile);

}  // namespace danaus
