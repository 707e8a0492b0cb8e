// Methods against the truth, as result rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/verify/execution.hpp"
#include "experiments/verify/trials.hpp"
#include "reference/judge.hpp"

namespace danaus {

//   {"status": "passed" | "failed", "samples": how many were compared, "rel_l2", "rel_max", "snr_db", "gain_error",
//    "bound": of the L2 error over all rows,
//    "clearance": the share of its bound that an error takes, the largest of L2, maximum and gain, over all rows and of
//    each row,
//    "worst": index into the output,
//    "row": {"place": "b=1, h=2", "error": L2, over what was summed to the row, "bound", "clearance"} of the worst row,
//    "cancelled": what was summed over the truth, where errors are relative to the former,
//    "truth": "direct" | "fftw",
//    "reason": why it failed beyond its bounds, or which samples overflow}
Json verdict_row(const OutputVerdict& verdict, std::string_view truth);

// Of a case, whose worst output it is: with "output" where there are several. {"status": "skipped", "reason"} where
// nothing was compared.
Json verdict_row(const Verdict& verdict, std::string_view truth);

// What outputs are to be compared with: the direct sum where it is small enough or FFTW itself is judged, else FFTW.
// Where the direct sum over all samples takes too long, it is over some, which `known` then says. Nothing where there
// is none.
std::optional<Expected> expected_of(const Case& asked, const Judge& judge, const Values& inputs, const Values& outputs,
                                    bool of_fftw, KnownNumbers& known);
Json without_truth();  // a verdict_row() that says so

// What methods promise that compute a case in double or by a model of rounding.
Promise promise_of_method(const Convolution& planned);

// What DataKind::recording reads, and where from; without samples where there are none.
struct Recording {
  std::string folder;
  std::vector<double> samples;
};

// Makes a trial: {"verify": how it is judged or, where the trial cannot be made, {"status": "skipped", "reason"}}. Of
// outputs that are known in part only that part is compared. Of other operations than the convolution there are beside
// it
//   "outputs": {name: verdict with "truth"},
//   "adjoint": {"status", "product": <y, dy>, "error", "bound", "clearance", "worst": the output}, of Gaussian
//   gradients
Json verified(const Trial& trial, const Recording& recording);

}  // namespace danaus
