// A GPU's own counters, by Nsight Compute, beside what the executor counts.
//
// ncu runs this program once more, which launches each case's kernel once; ncu repeats each launch for as many counters
// as it cannot read together. What it prints is read here.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/count/counted.hpp"

namespace danaus {

// Chains and exchanges, both folds, both types, with and without gates and tensor copies, 256 to 32K; small enough to
// be repeated.
std::vector<Convolution> compared_cases();

// The path of ncu, where there is one.
std::optional<std::string> find_profiler();

// What ncu read in one launch: metrics by name; how often each opcode was executed, by "sass:" and its name.
using Readings = std::map<std::string, double>;

// From ncu's output with --csv --print-metric-instances details, a launch each in their order. Lines that are not its
// table are passed over.
std::vector<Readings> parse_readings(std::string_view output);

// The comparison of a case, as a row without provenance:
//   {"case", "method", "device", "variant", "blocks", "code",
//    "quantities": [{"name", "counted", "hardware", "ratio": hardware over counted, "metric", "least", "most": what
//    hardware may be, "why" where they differ}]}
// Quantities that ncu did not read are left out; "blocks" is what the device launched.
Json comparison(const Convolution& problem, const Device& device, const Readings& readings);

// Whether what hardware counted is within its range.
bool is_explained(const Json& quantity);

// What ncu prints as this program launches each case's kernel.
std::string profile_launches(const std::vector<Convolution>& cases, const std::string& profiler);

// One row a case. Throws std::runtime_error with ncu's complaint where it has not read every launch.
std::vector<Json> comparisons(const std::vector<Convolution>& cases, const Device& device, const std::string& printed);

// Launches the kernel of a case on a GPU, with noise. In builds with CUDA.
void launch_once(const Convolution& problem, const Device& device);

}  // namespace danaus
