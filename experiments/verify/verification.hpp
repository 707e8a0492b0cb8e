// Results against the truth, and whether they are as close as their bound says.
#pragma once

#include <vector>

#include "experiments/verify/trials.hpp"
#include "reference/compare.hpp"

namespace danaus {

//   {"status": "passed" | "failed", "samples": how many were compared, "rel_l2", "rel_max", "snr_db", "gain_error",
//    "bound": of the L2 error,
//    "clearance": the share of its bound that an error takes, the largest of L2, maximum and gain,
//    "worst": index into what was compared}
Json verdict(const Comparison& comparison, double bound, std::int64_t samples, double gain_bound);

// The result row of one trial: what was tried, and "verify": its verdict() with "truth": "direct" | "fftw", or, where
// the trial cannot be made, {"status": "skipped", "reason"}. The truth is the direct sum where it is small enough or
// FFTW itself is judged (over some samples, where there are too many), else FFTW. `recording` is what
// DataKind::recording reads.
Json judge(const Trial& trial, const std::vector<double>& recording);

}  // namespace danaus
