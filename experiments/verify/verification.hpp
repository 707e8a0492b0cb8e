// Results against the truth, and whether they are as close as their bound says.
#pragma once

#include <string>
#include <vector>

#include "experiments/verify/execution.hpp"
#include "experiments/verify/trials.hpp"
#include "reference/compare.hpp"

namespace danaus {

//   {"status": "passed" | "failed", "samples": how many were compared, "rel_l2", "rel_max", "snr_db", "gain_error",
//    "bound": of the L2 error,
//    "clearance": the share of its bound that an error takes, the largest of L2, maximum and gain,
//    "worst": index into what was compared,
//    "cancelled": what was summed over the truth, where errors are relative to the former,
//    "reason": where a share that such data do not take is why it failed}
struct Expected {
  double bound;       // of the L2 error
  double gain_bound;  // where errors are relative to the truth
  std::int64_t samples;
  double share = 1;  // of its bound that the L2 error may take, of kManySamples and more
};
Json verdict(const Comparison& comparison, const Expected& expected);

// The verdict() on y [B, H, L] as computed from the inputs, with "truth": "direct" | "fftw"; or {"status": "skipped",
// "reason"}. `planned` is the problem with fold, N and factors, `bound` that of the computation itself. The truth is
// the direct sum where it is small enough or FFTW itself is judged (over some samples, where there are too many), else
// FFTW. Of y that is `known` in part only that part is compared. Constant data may have an error of scale;
// `usual_share` of its bound is what such data take.
Json judged(const Convolution& planned, std::string_view method, const Inputs& inputs,
            const std::vector<double>& computed, double bound, bool is_constant = false, double usual_share = 1,
            const KnownNumbers& known = {});

// What DataKind::recording reads, and where from; without samples where there are none.
struct Recording {
  std::string folder;
  std::vector<double> samples;
};

// Makes a trial: {"verify": how it is judged() or, where the trial cannot be made, {"status": "skipped", "reason"}}. Of
// other operations than the convolution "verify" is the worst of the outputs, with "output", and beside it are
//   "outputs": {name: verdict with "truth"},
//   "adjoint": {"status", "product": <y, dy>, "error", "bound", "clearance", "worst": the output}, of Gaussian
//   gradients
Json verified(const Trial& trial, const Recording& recording);

}  // namespace danaus
