#include "reference/truth.hpp"

#include "reference/state/recurrence.hpp"

namespace danaus {
namespace {

Values make_state_values(const Case& asked, std::uint64_t seed) {
  const StateSpace& p = *asked.as<StateSpace>();
  StateInputs inputs = make_inputs(p, Poles::any, seed);
  Values values = {
      {"u", std::move(inputs.u)}, {"a", std::move(inputs.a)}, {"b", std::move(inputs.b)}, {"c", std::move(inputs.c)}};
  if (p.initial) values.emplace("x_initial", std::move(inputs.x_initial));
  return values;
}

Values state_outputs(const Case& asked, const Values& values) {
  const StateSpace& p = *asked.as<StateSpace>();
  StateOutputs outputs = by_recurrence(p, state_inputs_of(values));
  Values results = {{"y", std::move(outputs.y)}};
  if (p.final) results.emplace("x_final", std::move(outputs.x_final));
  return results;
}

}  // namespace

Truth state_truth() { return {"ssmconv", &make_state_values, &state_outputs}; }

}  // namespace danaus
