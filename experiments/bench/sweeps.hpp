// What is timed by default: lists of cases, of convolutions here, of other operations in their studies.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/operations/study.hpp"

namespace danaus {

// The first one, `speed`, is the default and holds those of fused forward convolutions that leave the factors to the
// plan. Factorizations are those of the build: with the CMake option DANAUS_ALL every one that the kernels can have.
std::span<const CaseSweep> case_sweeps();
std::vector<std::string> case_sweep_names();

// Null where there is none of that name.
const CaseSweep* find_case_sweep(std::string_view name);
// Throws std::invalid_argument, which begins with the operation, and names those that there are.
const CaseSweep& case_sweep(std::string_view operation, std::string_view name);

}  // namespace danaus
