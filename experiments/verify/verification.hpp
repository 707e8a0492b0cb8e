// Methods against the truth, as result rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/methods/execution.hpp"
#include "experiments/verify/trials.hpp"
#include "reference/judge.hpp"

namespace danaus {

// The fields of a verdict:
//   status               "passed" or "failed"
//   samples              how many were compared
//   rel_l2, rel_max, snr_db, gain_error
//                        over all rows
//   bound                of rel_l2
//   clearance            the largest share of its bound that an error takes: L2, maximum or gain, of a row or of all
//   worst                index into the output
//   row                  the worst row: {"place": "b=1, h=2", "error", "bound", "clearance"}; its L2 error is relative
//                        to what was summed to it
//   cancelled            what was summed over the truth, where errors are relative to the former
//   truth                "direct" or "fftw"
//   reason               why it failed beyond its bounds, or which samples overflow
Json verdict_row(const OutputVerdict& verdict, std::string_view truth);

// Of a case, whose worst output it is: with "output" where there are several. {"status": "skipped", "reason"} where
// nothing was compared.
Json verdict_row(const Verdict& verdict, std::string_view truth);

// The truth that outputs are compared with. It is the direct sum where that is small enough, or where FFTW itself is
// judged; else it is FFTW's. Where a direct sum of all samples takes too long, some are summed, and `known` says which.
// Nothing where there is no truth.
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

// Makes a trial: {"verify": its verdict, or {"status": "skipped", "reason"} where the trial cannot be made}. Outputs
// that are known in part are compared in that part. Operations other than the convolution have besides
//   "outputs": {name: verdict with "truth"},
//   "adjoint": {"status", "product": <y, dy>, "error", "bound", "clearance", "worst": the output}, of Gaussian
//   gradients
Json verified(const Trial& trial, const Recording& recording);

}  // namespace danaus
