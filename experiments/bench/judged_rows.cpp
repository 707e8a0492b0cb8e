#include "experiments/bench/judged_rows.hpp"

#include <limits>

#include "experiments/verify/verification.hpp"
#include "reference/compare.hpp"

namespace danaus {
namespace {

// What is not finite takes more than any bound.
double taken(const Json& verdict) {
  return verdict["clearance"].is_number() ? verdict["clearance"].get<double>() : std::numeric_limits<double>::max();
}

}  // namespace

Json verdict_on_rows(const CheckedRows& rows, const Values& computed, const Runner& runner) {
  const auto subject = subject_of(rows.asked, "bench");
  const Values right = runner.computes() ? subject->compared(rows.inputs, rows.outputs) : Values();
  Json worst, outputs;
  for (const auto& [output, actual] : runner.computes() ? subject->compared(rows.inputs, computed) : computed) {
    const auto& expected = runner.computes() ? right.at(output) : rows.inputs.at("u");
    const double bound =
        runner.computes() ? runner.bound(output) * rows.size_of_sums(output) + subject->bound_of_truth() : 0;
    const std::int64_t samples = std::ssize(expected);
    Json here = verdict(compare(expected, actual), {bound, bound_gain(bound, samples), samples, kUsualShare});
    here["output"] = output;
    outputs[output] = {{"rel_l2", here["rel_l2"]}, {"bound", bound}, {"clearance", here["clearance"]}};
    const bool fails = here["status"] == "failed", failed = !worst.is_null() && worst["status"] == "failed";
    if (worst.is_null() || fails > failed || (fails == failed && taken(here) > taken(worst))) worst = here;
  }
  if (outputs.size() > 1)
    worst["outputs"] = outputs;
  else
    worst.erase("output");
  worst["truth"] = runner.computes() ? subject->truth() : "u";
  worst["rows"] = rows.rows, worst["of"] = rows.of;
  return worst;
}

}  // namespace danaus
