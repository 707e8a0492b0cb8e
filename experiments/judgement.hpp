// One trial judged: the candidate's result against the truth, and whether it is as close as its bound says.
#pragma once

#include <vector>

#include "experiments/trials.hpp"

namespace danaus {

// The trial's result row: what was tried, and
//   "verify": {"status": "passed" | "failed", "truth": "direct" | "fftw", "samples": how many were compared, "rel_l2",
//   "rel_max", "snr_db", "gain_error", "bound": of the L2 error,
//              "clearance": the share of its bound that an error takes, the largest of L2, maximum and gain,
//              "worst": index into y [B, H, L]}
//   or, where the trial cannot be made, {"status": "skipped", "reason"}
// The truth is the direct sum where it is small enough or FFTW itself is judged (over some samples, where there are too
// many), else FFTW.
// `recording` is what DataKind::recording reads.
Json judge(const Trial& trial, const std::vector<double>& recording);

}  // namespace danaus
