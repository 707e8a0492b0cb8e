#include "tests/conformance/judge.hpp"

#include "kernels/cpu/machine.hpp"
#include "kernels/plan/promise.hpp"

namespace danaus::conformance {

Arithmetic by_kernel(const Case& asked) {
  static const Device kDevice = executor_machine()->device();
  return {promise_of(asked, kDevice), {}};
}

Arithmetic in_double(const Case& asked) { return {{}, double_bounds(asked)}; }

Arithmetic in_samples_type(const Case& asked) {
  constexpr int kRoundings = 16;  // of transforms there and back, and the products
  const Dtype samples = asked.arrays().front().dtype;
  Arithmetic arithmetic = in_double(asked);
  for (auto& [output, bound] : arithmetic.bounds)
    bound += bound_l2_of_roundings(samples == Dtype::f64 ? Dtype::f64 : Dtype::f32, kRoundings);
  return arithmetic;
}

Arithmetic rounded_as_inputs(const Case& asked, Arithmetic arithmetic) {
  const auto judge = judge_of(asked);
  for (const Array& output : asked.arrays())
    if (output.role == Role::output)
      arithmetic.bounds.try_emplace(std::string(output.name), judge->bound(output.name, arithmetic.promise.roundings));
  for (const Array& input : asked.arrays())
    if (const auto gradient = arithmetic.bounds.find(text('d', input.name)); gradient != arithmetic.bounds.end())
      gradient->second += bound_l2_of_roundings(input.dtype, 1);
  return arithmetic;
}

std::string complaint(const Case& asked, const Values& inputs, const Values& outputs, const Arithmetic& arithmetic) {
  const Verdict verdict = verdict_on(asked, inputs, outputs, arithmetic.promise, {.bounds = arithmetic.bounds});
  const OutputVerdict& worst = *verdict.worst();
  if (worst.passed) return "";
  return text(asked.token(), ": ", worst.output, " takes ", worst.clearance, " of its bounds; over all rows ",
              worst.all.rel_l2, " of ", worst.bound, ", at ", worst.row.place, ' ', worst.row.error, " of ",
              worst.row.bound, ". ", worst.reason);
}

}  // namespace danaus::conformance
