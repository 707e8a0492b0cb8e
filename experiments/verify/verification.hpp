// Results against the truth, and whether they are as close as their bound says.
#pragma once

#include <string>
#include <vector>

#include "experiments/verify/trials.hpp"
#include "reference/compare.hpp"

namespace danaus {

//   {"status": "passed" | "failed", "samples": how many were compared, "rel_l2", "rel_max", "snr_db", "gain_error",
//    "bound": of the L2 error,
//    "clearance": the share of its bound that an error takes, the largest of L2, maximum and gain,
//    "worst": index into what was compared}
Json verdict(const Comparison& comparison, double bound, std::int64_t samples, double gain_bound);

// The verdict() on y [B, H, L] as computed from the inputs, with "truth": "direct" | "fftw"; or {"status": "skipped",
// "reason"}. `planned` is the problem with fold, N and factors, `bound` that of the computation itself. The truth is
// the direct sum where it is small enough or FFTW itself is judged (over some samples, where there are too many), else
// FFTW.
Json judged(const Convolution& planned, std::string_view method, const Inputs& inputs,
            const std::vector<double>& computed, double bound, bool is_constant = false);

// What DataKind::recording reads, and where from; without samples where there are none.
struct Recording {
  std::string folder;
  std::vector<double> samples;
};

// Makes a trial: {"verify": how it is judged() or, where the trial cannot be made, {"status": "skipped", "reason"}}.
Json verified(const Trial& trial, const Recording& recording);

}  // namespace danaus
