#include "experiments/bench/checked_rows.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "experiments/timing/array_noise.hpp"
#include "experiments/timing/noise.hpp"
#include "experiments/verify/verification.hpp"
#include "reference/half.hpp"

namespace danaus {

double CheckedRows::size_of_sums(std::string_view output) const {
  const auto judge = judge_of(asked);
  const std::vector<OutputTerms> terms = judge->terms(inputs, {});
  const std::vector<double>& right = array_in(expected.outputs, output);
  const double size = std::sqrt(std::inner_product(right.begin(), right.end(), right.begin(), 0.));
  return std::max(1., std::ranges::find(terms, output, &OutputTerms::name)->summed_to_all() / size);
}

CheckedRows checked_rows(const Case& asked) {
  const auto subject = subject_of(asked, "bench");
  CheckedRows rows{subject->some_rows(), {}, {}};
  const Values filters = subject->filters();
  const std::vector<Array> arrays = asked.arrays();
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Array& array = arrays[i];
    if (array.role == Role::output) continue;
    const std::uint64_t key = array_key(asked, array.name);
    const float scale = array_scale(asked, array);
    const auto made = filters.find(array.name);
    std::vector<double>& values = rows.inputs[std::string(array.name)];
    for (const Block& block : rows.places[i])
      for (std::int64_t n = block.first; n < block.first + block.count; ++n)
        values.push_back(made != filters.end() ? made->second[n] : round_to(array.dtype, scale * noise(key, n)));
  }
  rows.expected = judge_of(rows.asked)->expected(rows.inputs);
  return rows;
}

Json verdict_on_rows(const CheckedRows& rows, const Values& computed, const Runner& runner) {
  const auto judge = judge_of(rows.asked);
  std::vector<OutputTerms> terms = judge->terms(rows.inputs, runner.promise());
  Expected expected = rows.expected;
  JudgeOptions options{.usual_share = kUsualShare};
  for (OutputTerms& of : terms) options.bounds.emplace(of.name, runner.computes() ? runner.bound(of.name) : 0);
  if (!runner.computes()) expected = {{{"y", array_in(rows.inputs, "u")}}, "u", 0};
  const Verdict verdict = verdict_on(*judge, rows.inputs, computed, expected, terms, options);
  Json row = verdict_row(verdict, expected.by);
  if (verdict.outputs.size() > 1)
    for (const OutputVerdict& output : verdict.outputs) {
      const Json fields = verdict_row(output, expected.by);
      for (const char* field : {"rel_l2", "bound", "clearance", "row"})
        row["outputs"][output.output][field] = fields[field];
    }
  row["rows"] = rows.rows, row["of"] = rows.of;
  return row;
}

}  // namespace danaus
