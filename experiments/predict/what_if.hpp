// Which kernels remain where a block has less shared memory, and what they would take.
#pragma once

#include <vector>

#include "experiments/cli/environment.hpp"
#include "model/profile.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus {

// A case on the device of a profile with only its shared memory changed.
struct LimitedCase {
  Case asked;
  HardwareProfile profile;  // with the limit changed
  int size;                 // N, of the kernel that has most room; without an FFT the length of a row, or its last axis
};

// Every FFT size: circular, with both gates, and causal.
std::vector<Case> every_size();

// Each case, of any operation, with the shared memory of each class of devices. Throws std::invalid_argument where a
// case has no kernel even with most.
std::vector<LimitedCase> limited_cases(const std::vector<Case>& cases, const HardwareProfile& profile);

// The fields of a result row (schema what_if) that say what is asked, and the others.
Json describe(const LimitedCase& limited);
Json what_if(const LimitedCase& limited);

}  // namespace danaus
