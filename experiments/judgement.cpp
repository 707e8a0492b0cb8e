#include "experiments/judgement.hpp"

#include <algorithm>

#include "reference/compare.hpp"

namespace danaus {
namespace {

// Multiplications up to which the direct sum is the truth, and up to which it can be where FFTW itself is judged.
constexpr double kDirectByDefault = 1 << 24;
constexpr double kDirectAtMost = 1e10;

double direct_multiplications(const Problem& planned) {
  const auto size = static_cast<double>(planned.fft_size), length = static_cast<double>(planned.length);
  const double channels = static_cast<double>(planned.channels);
  const double rows = static_cast<double>(planned.batch) * channels;
  if (!planned.mask.zeroed.empty()) return rows * length * size + channels * size * size;
  return rows * length * static_cast<double>(std::min(planned.filter_length, planned.length));
}

// What the truth itself may be off by, relative L2: each sample of the direct sum is rounded once a term.
double truth_bound(Method truth, const Problem& planned) {
  const std::int64_t terms =
      planned.mask.zeroed.empty() ? std::min(planned.filter_length, planned.length) : planned.fft_size;
  return truth == Method::direct ? bound_l2_of_roundings(Dtype::f64, static_cast<int>(terms))
                                 : candidates().front().bound(planned);
}

Json skipped(Json row, const std::string& reason) {
  row["verify"] = {{"status", "skipped"}, {"reason", reason}};
  return row;
}

}  // namespace

Json judge(const Trial& trial, const std::vector<double>& recording) {
  const Problem plan = planned(trial.problem);
  Json row = describe(trial);
  DataSpec data = trial.data;
  if (data.data == DataKind::recording) {
    if (recording.empty()) return skipped(std::move(row), "no recording is installed (Debian: alsa-utils)");
    data.recording = recording;
  }
  const double multiplications = direct_multiplications(plan);
  const bool judges_fftw = trial.candidate.name == name(Method::fftw);
  if (judges_fftw && multiplications > kDirectAtMost)
    return skipped(std::move(row), "FFTW is judged by the direct sum, which would take too long");
  const Method truth = judges_fftw || multiplications <= kDirectByDefault ? Method::direct : Method::fftw;

  const Inputs inputs = make_inputs(trial.problem, data);
  const std::vector<double> expected = convolve(trial.problem, inputs, truth);
  const Comparison comparison = compare(expected, trial.candidate.compute(trial.problem, inputs));
  const double bound = trial.candidate.bound(plan) + truth_bound(truth, plan);
  const double max_bound = bound_max(bound, static_cast<std::int64_t>(expected.size()));
  row["verify"] = {{"status", within(comparison, bound, max_bound) ? "passed" : "failed"},
                   {"truth", name(truth)},
                   {"rel_l2", comparison.rel_l2},
                   {"rel_max", comparison.rel_max},
                   {"snr_db", comparison.snr_db},
                   {"bound", bound},
                   {"clearance", std::max(comparison.rel_l2 / bound, comparison.rel_max / max_bound)},
                   {"worst", comparison.worst}};
  return row;
}

}  // namespace danaus
