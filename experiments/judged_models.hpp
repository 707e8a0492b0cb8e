// The cost models against measured rows.
#pragma once

#include <string>

#include "experiments/program/cli.hpp"
#include "model/profile.hpp"

namespace danaus {

// Reads the kernels' rows of a result file of danaus bench. Every other one fits the roofline's overlap, the others
// judge it: a table with the signed error of each model in each row, and the median and 90th percentile of the absolute
// error over the rows that took no part in fitting. Times are burst medians. Throws where the file has fewer than two
// rows.
int judge_models(const std::string& path, const HardwareProfile& profile, const HardwareProfile& paper,
                 Console& console);

}  // namespace danaus
