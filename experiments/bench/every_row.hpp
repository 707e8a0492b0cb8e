// All rows of every set, on the device: too many to be fetched, or to be computed in double.
#pragma once

#include "experiments/bench/sets.hpp"
#include "experiments/cli/environment.hpp"

namespace danaus {

// Compares y, as `runner` left it in every set, with what another contender makes of the same inputs: kernels with
// cuFFT in fp32, cuFFT with kernels, a copy with u.
//   {"against": method, "rows", "sets", "rel_l2", "rel_max", "bound": of rel_l2, what Gaussian data may take of the two
//   bounds together}, and "reason" where they differ by more; or {"skipped": why there is nothing to compare with}
Json compare_every_row(const Sets& sets, Contender contender, const Runner& runner, const Device& device,
                       Stream stream);

// A number for y of a set, which is another one where a sample is.
std::vector<unsigned long long> checksums(const Sets& sets, Stream stream);

}  // namespace danaus
