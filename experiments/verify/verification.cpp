#include "experiments/verify/verification.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "experiments/operations/subject.hpp"
#include "experiments/verify/execution.hpp"
#include "experiments/verify/spot_check.hpp"
#include "reference/compare.hpp"
#include "reference/convolution/conditioning.hpp"
#include "reference/overflow.hpp"

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
  if (!planned.mask.empty()) return rows * length * size + channels * size * size;
  return rows * length * static_cast<double>(std::min(planned.filter_length, planned.length));
}

// What the truth itself may be off by, relative L2. The direct sum rounds each sample once a term: a random walk.
double truth_bound(Method truth, const Convolution& planned) {
  if (truth == Method::fftw) return fftw_bound(planned);
  const std::int64_t terms = planned.mask.empty() ? std::min(planned.filter_length, planned.length) : planned.fft_size;
  return unit_roundoff(Dtype::f64) * std::sqrt(static_cast<double>(terms));
}

// What was summed to some of all outputs: their share of it.
double summed_to(const std::vector<double>& some, const std::vector<double>& all, double summed) {
  return summed * std::sqrt(static_cast<double>(some.size()) / static_cast<double>(all.size()));
}

Json skipped(const std::string& reason) { return {{"status", "skipped"}, {"reason", reason}}; }

// Of launches too large to be executed whole, one after the other.
Json without_known() {
  return skipped("the blocks that differ were executed, and none made outputs out of what others had made whole");
}

// Sets samples of both to 0 that came out infinite and must, because the truth is too large for the type. Returns how
// many samples are not finite, in words, or nothing.
std::string without_overflow(Dtype dtype, std::vector<double>& expected, std::vector<double>& computed) {
  std::int64_t infinite = 0, too_large = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::isfinite(computed[i])) continue;
    ++infinite, too_large += overflows(dtype, expected[i]);
    if (computed[i] == round_to(dtype, expected[i])) expected[i] = computed[i] = 0;
  }
  if (infinite == 0) return "";
  return text(infinite, " of ", expected.size(), " samples are not finite; of ", too_large,
              " the truth is too large for ", name(dtype), ", a smaller --scale has fewer");
}

bool judges_fftw(std::string_view method) { return method == name(Method::fftw); }

// What stands in place of a verdict, known before anything is computed; nothing where there is one.
std::optional<Json> without_truth(const Convolution& planned, std::string_view method) {
  if (!judges_fftw(method) || planned.mask.empty() || direct_multiplications(planned) <= kDirectForFftw) return {};
  return skipped("FFTW is judged by the direct sum, which takes too long for a mask of this size");
}

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

Json judged(const Convolution& planned, std::string_view method, const Inputs& inputs,
            const std::vector<double>& computed, double bound, bool is_constant, double usual_share,
            const KnownNumbers& known) {
  if (const auto why = without_truth(planned, method)) return *why;
  const double multiplications = direct_multiplications(planned);
  const Method truth = judges_fftw(method) || multiplications <= kDirectByDefault ? Method::direct : Method::fftw;
  auto samples = static_cast<std::int64_t>(computed.size());
  Comparison comparison;
  std::string reason;
  if (judges_fftw(method) && multiplications > kDirectForFftw) {
    const SpotCheck check = spot_check(planned, inputs, computed);
    samples = check.samples;
    comparison = check.in_double;
  } else {
    std::vector<double> right = known_of(known, "y", convolve(planned, inputs, truth));
    if (right.empty()) return without_known();
    std::vector<double> fitting = known_of(known, "y", computed);
    reason = without_overflow(planned.dtype, right, fitting);
    comparison = compare(right, fitting, summed_to(right, computed, summed(planned, inputs)));
    samples = std::ssize(right);
  }
  const double whole_bound = bound + truth_bound(truth, planned);
  const double gain_bound = is_constant ? whole_bound : bound_gain(whole_bound, samples);
  Json row = verdict(comparison, {whole_bound, gain_bound, samples, usual_share});
  row["truth"] = name(truth);
  if (!reason.empty()) row["reason"] = reason;
  return row;
}

namespace {

bool is_gaussian(const DataSpec& data) {
  return data.data == DataKind::gaussian && data.scale == 1 && data.filter == FilterKind::random;
}

Json verified_convolution(const Trial& trial, const Convolution& problem, const DataSpec& data) {
  const Convolution planned = trial.candidate.planned(problem);
  const std::string_view method = trial.candidate.name;
  if (const auto why = without_truth(planned, method)) return {{"verify", *why}};
  const Inputs inputs = make_inputs(problem, data);
  Execution done;
  if (trial.candidate.machine)
    done = execute(trial.asked, values_of(inputs), trial.candidate.machine());
  else
    done.outputs["y"] = trial.candidate.compute(problem, inputs);
  Json row = judged(planned, method, inputs, done.outputs["y"], trial.candidate.bound(planned),
                    data.data == DataKind::constant, is_gaussian(data) ? trial.candidate.usual_share : 1, done.known);
  if (!done.violation.empty()) row["status"] = "failed", row["reason"] = done.violation;
  return {{"verify", row}};
}

// The product of y with dy, which every gradient's with its own input must be.
Json judged_products(const AdjointProduct& product, const Values& values, const Values& outputs,
                     const std::vector<OutputBound>& bounds) {
  Json worst;
  for (const AdjointError& each : adjoint_errors(values, outputs, product.whole, bounds, product.of_bias)) {
    const double clearance = std::abs(each.error) / each.bound;
    const bool right = clearance <= 1;  // not of a NaN
    if (worst.is_null() || !right || clearance > worst.at("clearance"))
      worst = {{"status", right ? "passed" : "failed"},
               {"product", product.whole},
               {"error", each.error},
               {"bound", each.bound},
               {"clearance", clearance},
               {"worst", each.output}};
    if (!right) break;
  }
  return worst;
}

// Whether a is to stand for a row in which b is too.
bool is_worse(const Json& a, const Json& b) {
  const auto failed = [](const Json& verdict) { return verdict.at("status") == "failed"; };
  if (failed(a) != failed(b)) return failed(a);
  return a.at("clearance") > b.at("clearance");
}

Dtype dtype_of(const Case& asked, std::string_view name) {
  for (const Array& array : asked.arrays())
    if (array.name == name) return array.dtype;
  fail("verify: ", asked.token(), " has no array ", name);
}

Json verified_outputs(const Trial& trial, const DataSpec& data) {
  const std::shared_ptr<const Machine> machine = trial.candidate.machine();
  const auto subject = subject_of(trial.asked, "verify");
  const Values values = make_values(trial.asked, data);
  const Values expected = subject->compared(values, truth(trial.asked, values));
  const Execution done = execute(trial.asked, values, machine);
  const Values computed = subject->compared(values, done.outputs);
  const std::vector<OutputBound> bounds = output_bounds(trial.asked, values, machine->device());
  const double share = is_gaussian(data) ? trial.candidate.usual_share : 1;
  Json outputs = Json::object(), worst;
  for (const OutputBound& bound : bounds) {
    const std::string name(bound.name);
    const std::vector<double>&all = expected.at(name), right = known_of(done.known, name, all);
    if (right.empty()) continue;
    const std::int64_t samples = std::ssize(right);
    const double gain = data.data == DataKind::constant ? bound.l2 : bound_gain(bound.l2, samples);
    Json& row = outputs[name];
    std::vector<double> fitting_truth = right, fitting = known_of(done.known, name, computed.at(name));
    const std::string reason = without_overflow(dtype_of(trial.asked, name), fitting_truth, fitting);
    row = verdict(compare(fitting_truth, fitting, summed_to(right, all, bound.summed)),
                  {bound.l2, gain, samples, share});
    if (!reason.empty()) row["reason"] = reason;
    row["truth"] = subject->truth();
    if (worst.is_null() || is_worse(row, worst)) {
      worst = row;
      worst["output"] = name;
    }
  }
  if (worst.is_null()) worst = without_known();
  Json fields = {{"verify", worst}, {"outputs", outputs}};
  if (!done.violation.empty()) fields["verify"]["status"] = "failed", fields["verify"]["reason"] = done.violation;
  const auto product = is_gaussian(data) && done.known.empty() ? subject->product(values) : std::nullopt;
  if (!product) return fields;
  const Json products = judged_products(*product, values, done.outputs, bounds);
  fields["adjoint"] = products;
  if (products.at("status") == "failed" && worst.at("status") == "passed")
    fields["verify"]["status"] = "failed",
    fields["verify"]["reason"] = text("the product of ", products.at("worst").get<std::string>(), " with its input is ",
                                      products.at("error"), " off that of y with dy, may be ", products.at("bound"));
  return fields;
}

}  // namespace

Json verified(const Trial& trial, const Recording& recording) {
  DataSpec data = trial.data;
  if (data.data == DataKind::recording) {
    if (recording.samples.empty()) {
      const std::string why = recording.folder + " has no .wav file (Debian: alsa-utils has some)";
      return {{"verify", skipped("no recording: " + why)}};
    }
    data.recording = recording.samples;
  }
  const auto* convolution = trial.asked.as<Convolution>();
  return convolution ? verified_convolution(trial, *convolution, data) : verified_outputs(trial, data);
}

}  // namespace danaus
