#include "experiments/verify/verification.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "experiments/verify/spot_check.hpp"
#include "kernels/plan/promise.hpp"
#include "reference/convolution/rows.hpp"
#include "reference/convolution/terms.hpp"

namespace danaus {
namespace {

// Multiplications up to which the direct sum is the truth where FFTW itself is judged; beyond that it is over some
// samples.
constexpr double kDirectForFftw = 2e8;

Json skipped(const std::string& reason) { return {{"status", "skipped"}, {"reason", reason}}; }

bool is_gaussian(const DataSpec& data) {
  return data.data == DataKind::gaussian && data.scale == 1 && data.filter == FilterKind::random;
}

// The product of y with dy, which every gradient's with its own input must be.
Json judged_products(const AdjointProduct& product, const Values& values, const Values& outputs,
                     const std::vector<OutputTerms>& terms) {
  Json worst;
  for (const AdjointError& each : adjoint_errors(values, outputs, product, terms)) {
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

void fail_row(Json& row, const std::string& reason) { row["status"] = "failed", row["reason"] = reason; }

}  // namespace

Json verdict_row(const OutputVerdict& verdict, std::string_view truth) {
  const Comparison& all = verdict.all;
  const RowVerdict& row = verdict.row;
  Json fields = {
      {"status", verdict.passed ? "passed" : "failed"},
      {"samples", verdict.samples},
      {"rel_l2", all.rel_l2},
      {"rel_max", all.rel_max},
      {"snr_db", all.snr_db},
      {"gain_error", all.gain_error},
      {"bound", verdict.bound},
      {"clearance", verdict.clearance},
      {"worst", all.worst},
      {"row", {{"place", row.place}, {"error", row.error}, {"bound", row.bound}, {"clearance", row.clearance}}},
      {"truth", truth}};
  if (all.cancelled > 1) fields["cancelled"] = all.cancelled;
  if (!verdict.reason.empty()) fields["reason"] = verdict.reason;
  return fields;
}

Json verdict_row(const Verdict& verdict, std::string_view truth) {
  const OutputVerdict* worst = verdict.worst();
  if (!worst)
    return skipped("the blocks that differ were executed, and none made outputs out of what others had made whole");
  if (worst->passed && worst->samples == 0) return skipped("every row reads a NaN or an infinity");
  Json row = verdict_row(*worst, truth);
  if (verdict.outputs.size() > 1) row["output"] = worst->output;
  return row;
}

std::optional<Expected> expected_of(const Case& asked, const Judge& judge, const Values& inputs, const Values& outputs,
                                    bool of_fftw, KnownNumbers& known) {
  const auto* problem = asked.as<Convolution>();
  if (!of_fftw || !problem || direct_multiplications(*problem) <= kDirectForFftw)
    return judge.expected(inputs, of_fftw);
  if (!problem->mask.empty()) return std::nullopt;
  Expected expected{outputs, name(Algorithm::direct), direct_bound(*problem)};
  std::vector<double>& y = expected.outputs.at("y");
  std::vector<bool>& checked = known["y"] = std::vector<bool>(y.size());
  const auto [indices, right] = direct_samples(*problem, inputs_of(inputs));
  for (std::size_t i = 0; i < indices.size(); ++i) y[indices[i]] = right[i], checked[indices[i]] = true;
  return expected;
}

Json without_truth() {
  return skipped("FFTW is judged by the direct sum, which takes too long for a mask of this size");
}

Promise promise_of_method(const Convolution& planned) {
  Promise promise;
  if (shares_transforms(planned)) promise.shared_rows = 2, promise.keeps_rows_apart = false;
  return promise;
}

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
  const std::shared_ptr<const Machine> machine = trial.method.machine ? trial.method.machine() : nullptr;
  const bool of_fftw = trial.method.name == name(Algorithm::fftw);
  const Values values = make_values(trial.asked, data);
  Promise promise;
  JudgeOptions options{.usual_share = is_gaussian(data) ? trial.method.usual_share : 1};
  Execution done;
  if (machine) {
    if (convolution) planned_by(trial.method, *convolution);  // or says why there is no kernel
    promise = promise_of(trial.asked, machine->device());
    done = execute(trial.asked, values, machine);
  } else {
    const Convolution planned = planned_by(trial.method, *convolution);
    promise = promise_of_method(planned);
    options.bounds["y"] = trial.method.bound(planned);
    done.outputs["y"] = trial.method.compute(*convolution, inputs_of(values));
  }
  options.known = done.known;
  const auto judge = judge_of(trial.asked);
  const auto expected = expected_of(trial.asked, *judge, values, done.outputs, of_fftw, options.known);
  if (!expected) return {{"verify", without_truth()}};
  std::vector<OutputTerms> terms = judge->terms(values, promise);
  if (trial.method.in_double)  // nothing is rounded to the case's type
    for (OutputTerms& of : terms) of.dtype = Dtype::f64, of.floor = 0;
  const Verdict verdict = verdict_on(*judge, values, done.outputs, *expected, terms, options);
  Json fields = {{"verify", verdict_row(verdict, expected->by)}};
  if (!convolution) {
    Json& outputs = fields["outputs"] = Json::object();
    for (const OutputVerdict& output : verdict.outputs) outputs[output.output] = verdict_row(output, expected->by);
    if (verdict.worst()) fields["verify"]["output"] = verdict.worst()->output;
  }
  if (!done.violation.empty()) fail_row(fields["verify"], done.violation);
  const auto product = is_gaussian(data) && done.known.empty() ? judge->product(values) : std::nullopt;
  if (!product) return fields;
  const Json products = fields["adjoint"] = judged_products(*product, values, done.outputs, terms);
  if (products.at("status") == "failed" && verdict.passed())
    fail_row(fields["verify"], text("the product of ", products.at("worst").get<std::string>(), " with its input is ",
                                    products.at("error"), " off that of y with dy, may be ", products.at("bound")));
  return fields;
}

}  // namespace danaus
