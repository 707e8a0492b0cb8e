#include "experiments/verify/verification.hpp"

#include <algorithm>
#include <cmath>

#include "experiments/verify/spot_check.hpp"
#include "reference/compare.hpp"
#include "reference/convolution/conditioning.hpp"

namespace danaus {
namespace {

// Multiplications up to which the direct sum is the truth, and up to which it is where FFTW itself is judged; beyond
// that, FFTW is judged by the direct sum over some samples.
constexpr double kDirectByDefault = 1 << 24;
constexpr double kDirectForFftw = 2e8;

double direct_multiplications(const Convolution& planned) {
  const auto size = static_cast<double>(planned.fft_size), length = static_cast<double>(planned.length);
  const double channels = static_cast<double>(planned.channels);
  const double rows = static_cast<double>(planned.batch) * channels;
  if (!planned.mask.zeroed.empty()) return rows * length * size + channels * size * size;
  return rows * length * static_cast<double>(std::min(planned.filter_length, planned.length));
}

// What the truth itself may be off by, relative L2. The direct sum rounds each sample once a term: a random walk.
double truth_bound(Method truth, const Convolution& planned) {
  if (truth == Method::fftw) return fftw_bound(planned);
  const std::int64_t terms =
      planned.mask.zeroed.empty() ? std::min(planned.filter_length, planned.length) : planned.fft_size;
  return unit_roundoff(Dtype::f64) * std::sqrt(static_cast<double>(terms));
}

Json skipped(const std::string& reason) { return {{"verify", {{"status", "skipped"}, {"reason", reason}}}}; }

}  // namespace

Json verdict(const Comparison& comparison, const Expected& expected) {
  const double bound = expected.bound, max_bound = bound_max(bound, expected.samples);
  // Of a truth that is small, what is summed and cancelled changes the gain by as much more.
  const double gain_bound = std::max(
      expected.gain_bound, comparison.cancelled > 1 ? bound_gain(bound * comparison.cancelled, expected.samples) : 0);
  // An error of 0 takes nothing of its bound, not even of 0.
  const auto share = [](double error, double of) { return error == 0 ? 0 : error / of; };
  const double clearance = std::max({share(comparison.rel_l2, bound), share(comparison.rel_max, max_bound),
                                     share(std::abs(comparison.gain_error), gain_bound)});
  const double taken = share(comparison.rel_l2, bound);
  const bool usual = expected.samples < kManySamples || taken <= expected.share;
  const bool right = within(comparison, bound, max_bound, gain_bound);
  Json fields = {{"status", right && usual ? "passed" : "failed"},
                 {"samples", expected.samples},
                 {"rel_l2", comparison.rel_l2},
                 {"rel_max", comparison.rel_max},
                 {"snr_db", comparison.snr_db},
                 {"gain_error", comparison.gain_error},
                 {"bound", bound},
                 {"clearance", clearance},
                 {"worst", comparison.worst}};
  if (comparison.cancelled > 1) fields["cancelled"] = comparison.cancelled;
  if (right && !usual) fields["reason"] = text("such data take at most ", expected.share, " of the bound, not ", taken);
  return fields;
}

Json verified(const Trial& trial, const Recording& recording) {
  const Convolution plan = trial.candidate.planned(trial.problem);
  DataSpec data = trial.data;
  if (data.data == DataKind::recording) {
    if (recording.samples.empty())
      return skipped("no recording: " + recording.folder + " has no .wav file (Debian: alsa-utils has some)");
    data.recording = recording.samples;
  }
  const double multiplications = direct_multiplications(plan);
  const bool judges_fftw = trial.candidate.name == name(Method::fftw);
  const bool some_samples = judges_fftw && multiplications > kDirectForFftw;
  if (some_samples && !plan.mask.zeroed.empty())
    return skipped("FFTW is judged by the direct sum, which takes too long for a mask of this size");
  const Method truth = judges_fftw || multiplications <= kDirectByDefault ? Method::direct : Method::fftw;

  const Inputs inputs = make_inputs(trial.problem, data);
  const std::vector<double> computed = trial.candidate.compute(trial.problem, inputs);
  auto samples = static_cast<std::int64_t>(computed.size());
  Comparison comparison;
  if (some_samples) {
    const SpotCheck check = spot_check(trial.problem, inputs, computed);
    samples = check.samples;
    comparison = check.in_double;
  } else {
    comparison = compare(convolve(trial.problem, inputs, truth), computed, summed(trial.problem, inputs));
  }
  const double bound = trial.candidate.bound(plan) + truth_bound(truth, plan);
  const double gain_bound = trial.data.data == DataKind::constant ? bound : bound_gain(bound, samples);
  const bool gaussian = data.data == DataKind::gaussian && data.scale == 1 && data.filter == FilterKind::random;
  Json verdict = danaus::verdict(comparison, {bound, gain_bound, samples, gaussian ? trial.candidate.usual_share : 1});
  verdict["truth"] = name(truth);
  return {{"verify", verdict}};
}

}  // namespace danaus
