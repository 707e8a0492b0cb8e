// The cost models against measured rows: danaus model --measured.
#pragma once

#include <string>
#include <vector>

#include "experiments/cli/command_line.hpp"
#include "model/profile.hpp"

namespace danaus {

// Judges the models by the kernels' rows in result files of danaus bench: a table with the signed error of each model
// in each row, what each model's choice of factors costs, and both in a few numbers. Rows of three kinds go to `json`,
// written anew: "prediction" for each kernel, "choice" for each case that was measured with different factors,
// "summary" for each model, over all and over each type, mode and gating; experiments/README.md has their fields.
int judge_models(const std::vector<std::string>& paths, const HardwareProfile& profile, const HardwareProfile& paper,
                 const std::string& json, Console& console);

}  // namespace danaus
