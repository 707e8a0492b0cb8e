// All rows of every set, on the device: too many to be fetched, or to be computed in double.
#pragma once

#include <functional>

#include "experiments/cli/environment.hpp"
#include "experiments/methods/method.hpp"
#include "experiments/methods/runner.hpp"
#include "experiments/timing/sets.hpp"

namespace danaus {

// Compares outputs, as `runner` left them in every set, with what another method makes of the same inputs: kernels
// with cuFFT in fp32, cuFFT with kernels, a copy with u.
//   {"against": method, "rows": of outputs, "sets", "rel_l2", "rel_max", "bound": of rel_l2, what Gaussian data may
//   take of the two bounds together, "row": {"place", "error", "bound", "clearance"} of the row that differs most by
//   itself}, of the output that differs most by its bound, and "reason" where it differs by more; or {"skipped": why
//   there is nothing to compare with}
// `rows` are there of y, `size_of_sums` is as CheckedRows has it.
Json compare_every_row(const Sets& sets, const Method& method, const Runner& runner, const Device& device,
                       std::int64_t rows, const std::function<double(std::string_view)>& size_of_sums, Stream stream);

// A number for each array of a set, of outputs another one where a sample is.
std::vector<unsigned long long> checksums(const Sets& sets, std::int64_t set, Stream stream);

}  // namespace danaus
