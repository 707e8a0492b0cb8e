// What the cost models say of kernels that were timed: danaus model --measured.
#pragma once

#include <string>
#include <vector>

#include "experiments/cli/console.hpp"
#include "model/profile.hpp"

namespace danaus {

// Predicts the kernels' rows in result files of danaus bench: Eq. 2 of each kernel's own factors with the constants of
// `paper` and with those of `profile`, and the times that each resource of `profile` needs for its counted work. A row
// of kind "prediction" for each kernel goes to `json`, written anew: experiments/results/schemas/ has its fields.
// Throws where that file holds anything else. Nothing is fitted and nothing judged, which plots/evaluation.py does; the
// table on stdout makes one time of counted work by the model's own Concurrency.
int predict_measured(const std::vector<std::string>& paths, const HardwareProfile& profile,
                     const HardwareProfile& paper, const std::string& json, Console& console);

}  // namespace danaus
