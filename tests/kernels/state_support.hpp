// What convolutions by state-space models must give.
#pragma once

#include "reference/state/recurrence.hpp"
#include "tests/kernels/fields.hpp"
#include "tests/kernels/support.hpp"

namespace danaus {

inline void expect_right(const StateSpace& p, const StateInputs& inputs, const StateOutputs& outputs,
                         const Variant& variant) {
  Values made = {{"y", outputs.y}};
  if (p.final) made["x_final"] = outputs.x_final;
  expect_right(p, values_of(inputs), made, promise_of(p, variant, Device()), true);
}

}  // namespace danaus
