#include "reference/truth.hpp"

#include "reference/state/recurrence.hpp"

namespace danaus {
namespace {

Values make_state_values(const Case& asked, std::uint64_t seed) {
  return values_of(make_inputs(*asked.as<StateSpace>(), Poles::any, seed));
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
