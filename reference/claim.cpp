#include "reference/claim.hpp"

#include <algorithm>
#include <cmath>

#include "reference/grammar.hpp"
#include "reference/half.hpp"
#include "reference/row_terms.hpp"
#include "reference/token.hpp"

namespace danaus {
namespace {

// The case with every array in double. Its terms know nothing of what kernels lose in f16.
Case in_double(const Case& asked) {
  const std::string token = asked.token();
  const Grammar& grammar = *find_grammar(operation_word(token));
  std::string exact(grammar.operation);
  for (std::string_view rest = std::string_view(token).substr(exact.size()); !rest.empty();) {
    rest.remove_prefix(1);
    const std::string_view word = rest.substr(0, rest.find('_')), name = grammar.field_of(word)->name;
    rest.remove_prefix(word.size());
    if (name != kFilterTypeField.name && name != "tf32")
      exact += text('_', name == kTypeField.name ? danaus::name(Dtype::f64) : word);
  }
  return parse_case(exact);
}

// Transforms err by all taps, also by those that never meet a sample, such as taps beyond L. So at least |rows| |k|
// rms(gate) was summed to a row. Of dk the square is at least K / L of the sum of |u|^2 |dy|^2 over the batch.
void count_all_taps(const Case& asked, const Values& inputs, std::vector<OutputTerms>& terms) {
  const std::vector<Array> arrays = asked.arrays();
  const auto k = std::ranges::find(arrays, "k", &Array::name), u = std::ranges::find(arrays, "u", &Array::name);
  if (k == arrays.end()) return;
  const RowOrder order = row_order(*u);
  const auto length = static_cast<double>(order.length);
  const std::vector<double> taps = row_energies(row_order(*k), array_in(inputs, "k")).squares;
  const auto channels = std::ssize(taps);
  const struct {
    std::string_view output, rows, before, after;
  } products[] = {{"y", "u", "pregate", "postgate"},
                  {"du", "dy", "postgate", "pregate"},
                  {"dpregate", "dy", "postgate", "u"},
                  {"dpostgate", "u", "pregate", "dy"}};
  for (OutputTerms& of : terms) {
    if (of.name == "dk") {
      const double seen = std::min(static_cast<double>(of.order.length) / length, 1.);
      std::vector<double> squares(channels);
      const RowEnergies rows = row_energies(order, array_in(inputs, "u"), array_in(inputs, "pregate")),
                        others = row_energies(order, array_in(inputs, "dy"), array_in(inputs, "postgate"));
      for (std::int64_t row = 0; row < order.rows(); ++row)
        squares[row % channels] += seen * rows.of(row) * others.of(row);
      for (std::int64_t h = 0; h < channels; ++h) of.summed[h] = std::max(of.summed[h], std::sqrt(squares[h]));
    }
    const auto product = std::ranges::find(products, of.name, &std::remove_cvref_t<decltype(*products)>::output);
    if (product == std::end(products)) continue;
    const RowEnergies rows = row_energies(order, array_in(inputs, product->rows), array_in(inputs, product->before));
    const std::vector<double>& gate = array_in(inputs, product->after);
    const RowEnergies after = gate.empty() ? RowEnergies() : row_energies(order, gate);
    for (std::int64_t row = 0; row < order.rows(); ++row)
      of.summed[row] = std::max(
          of.summed[row], std::sqrt(rows.of(row) * taps[row % channels] * (gate.empty() ? 1 : after.of(row) / length)));
  }
}

// How far one rounding of each side may put numbers apart.
std::vector<double> roundings_of(Dtype dtype, const std::vector<double>& right, const std::vector<double>& made,
                                 int results) {
  const auto size = [](double value) { return std::isfinite(value) ? std::abs(value) : 0; };
  std::vector<double> roundings;
  for (std::size_t i = 0; i < right.size() && i < made.size(); ++i)
    roundings.push_back(results * half_ulp(dtype, std::max(size(right[i]), size(made[i]))));
  return roundings;
}

}  // namespace

double claimed_bound(const RowWork& work, const Claim& claim) {
  // Other computations in double, such as transforms of any length by chirps, err up to three times as much as FFTW.
  const double by_transforms =
      bound_l2_of_roundings(claim.inside, claim.roundings > 0 ? claim.roundings : work.roundings) *
      (claim.inside == Dtype::f64 ? 3 : 1);
  const double unit = unit_roundoff(claim.inside == Dtype::f64 ? Dtype::f64 : Dtype::f32);
  return claim.results * std::hypot(by_transforms + unit * std::sqrt(work.products), unit * work.steps);
}

Verdict claimed_verdict(const Case& asked, const Values& inputs, const Values& outputs, const Claim& claim,
                        const Values* expected) {
  if (claim.roundings < 0 || claim.results < 1)
    fail("judge: a claim of ", claim.roundings, " roundings and ", claim.results,
         " results, must be at least 0 and at least 1");
  const auto judge = judge_of(in_double(asked));
  const Expected right = expected ? Expected{*expected, "given", 0} : judge->expected(inputs);
  std::vector<OutputTerms> terms = judge->terms(inputs, {});
  std::erase_if(terms, [&](const OutputTerms& of) { return !outputs.contains(of.name); });
  count_all_taps(asked, inputs, terms);
  JudgeOptions options;
  for (const Array& array : asked.arrays()) {
    const auto of = std::ranges::find(terms, array.name, &OutputTerms::name);
    if (of == terms.end()) continue;
    of->dtype = array.dtype;
    of->bounds.assign(of->bounds.size(), claimed_bound(judge->work(array.name, inputs), claim));
    options.tolerances[std::string(array.name)] =
        roundings_of(array.dtype, array_in(right.outputs, array.name), array_in(outputs, array.name), claim.results);
  }
  return verdict_on(*judge, inputs, outputs, right, terms, options);
}

}  // namespace danaus
