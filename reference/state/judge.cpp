#include "reference/judge.hpp"

#include <algorithm>
#include <numeric>

#include "reference/convolution/convolve.hpp"
#include "reference/row_terms.hpp"
#include "reference/state/recurrence.hpp"

namespace danaus {
namespace {

class StateJudge final : public Judge {
 public:
  explicit StateJudge(const StateSpace& p) : Judge(p), p_(p) {}

  double bound(std::string_view output, const Roundings& roundings) const override {
    return bound(output, roundings, static_cast<double>(p_.length));
  }
  RowWork work(std::string_view, const Values& inputs) const override {
    const StateInputs of = state_inputs_of(inputs);
    RowWork work{4 * radix2_stages(2 * p_.length - 1) + 3, static_cast<double>(p_.length + p_.states)};
    for (std::int64_t h = 0; h < p_.channels; ++h) work.steps = std::max(work.steps, remembered_samples(p_, of, h));
    return work;
  }
  Values compared(const Values& inputs, Values outputs) const override {
    if (const auto x = outputs.find("x_final"); x != outputs.end())
      x->second = over_sizes(p_, state_inputs_of(inputs), std::move(x->second));
    return outputs;
  }
  std::string_view truth() const override { return name(Algorithm::direct); }
  // As of a kernel whose state is in double and takes every step.
  double bound_of_truth() const override {
    return bound_l2(p_, static_cast<double>(p_.length), 1, 0) * (unit_roundoff(Dtype::f64) / 0x1p-24);
  }

 private:
  std::vector<OutputTerms> row_terms(const Values& values, const Promise& promise) const override {
    const StateInputs inputs = state_inputs_of(values);
    std::vector<bool> is_spoiled =
        row_energies({{{"b", p_.batch}, {"h", p_.channels}}, p_.length}, inputs.u).is_spoiled;
    const auto spoil = [&](const std::vector<double>& numbers, std::int64_t rows) {
      const RowEnergies read = row_energies({{{"row", rows}}, 2 * p_.states}, numbers);
      for (std::size_t row = 0; row < is_spoiled.size(); ++row)
        if (read.is_spoiled[row % rows]) is_spoiled[row] = true;
    };
    for (const auto* filter : {&inputs.a, &inputs.b, &inputs.c}) spoil(*filter, p_.channels);
    if (p_.initial) spoil(inputs.x_initial, p_.batch * p_.channels);
    std::vector<OutputTerms> all;
    const auto add = [&](std::string_view name, std::vector<double> squares) {
      OutputTerms terms = output_terms(array(name), {std::move(squares), is_spoiled}, 0);
      for (std::int64_t row = 0; row < p_.batch * p_.channels; ++row)
        terms.bounds[row] = bound(name, promise.roundings, remembered_samples(p_, inputs, row % p_.channels));
      terms.has_frequencies = name == "y";
      all.push_back(std::move(terms));
    };
    std::vector<int> chunks;
    for (int chunk : {promise.roundings.chunk, promise.roundings.ends_chunk})
      if (chunk > 1 && std::ranges::find(chunks, chunk) == chunks.end()) chunks.push_back(chunk);
    SummedRows summed = summed_rows(p_, inputs, chunks);
    add("y", std::move(summed.squares));
    if (p_.initial) all.back().samples = std::move(summed.samples);
    if (!p_.final) return all;
    const std::vector<double> of_states = summed_squares_of_states(p_, inputs, chunks);
    std::vector<double> squares, numbers;  // of rows; how many numbers of a row err, two of a state
    for (auto of_row = of_states.begin(); of_row != of_states.end(); of_row += p_.states) {
      squares.push_back(std::accumulate(of_row, of_row + p_.states, 0.));
      numbers.push_back(2 * participation(std::span(of_row, of_row + p_.states)));
    }
    add("x_final", std::move(squares));
    all.back().samples = std::move(numbers);
    // A pole's powers, rounded, may err in phase with a row of one frequency.
    for (std::size_t row = 0; row < is_spoiled.size(); ++row)
      all.back().frequencies[row] = independent_frequencies(std::span(inputs.u).subspan(row * p_.length, p_.length));
    return all;
  }

  // Of the state only matrices are rounded to the type of the samples; by the recurrence, where chunk is 1, nothing is.
  double bound(std::string_view output, const Roundings& roundings, double remembered) const {
    const int count = output == "y" ? roundings.forward : roundings.chunk > 1 ? 1 : 0;
    return bound_l2(p_, remembered, roundings.chunk, count);
  }

  StateSpace p_;
};

}  // namespace

JudgeEntry state_judge() { return judge_entry<StateSpace, StateJudge>("ssmconv"); }

}  // namespace danaus
