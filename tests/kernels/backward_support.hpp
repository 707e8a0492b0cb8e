// What kernels of gradients must give.
#pragma once

#include "kernels/plan/correlation.hpp"
#include "reference/backward/backward.hpp"
#include "reference/backward/bounds.hpp"
#include "reference/truth.hpp"
#include "tests/kernels/support.hpp"

namespace danaus {

// Every output within its bound; outputs(name) are the values that a plan for the device, of this variant, has given.
template <class Outputs>
void expect_right(const Backward& asked, const Values& values, const Variant& variant, const Device& device,
                  Outputs outputs) {
  const Values expected = truth(asked, values);
  const auto [of_rows, of_sums] = roundings_of_gradients(asked.forward, variant, device);
  for (const OutputBound& bound : bounds_of_passes(asked.forward, values, {variant.roundings(), of_rows, of_sums})) {
    const auto found = expected.find(bound.name);
    if (found == expected.end()) continue;  // y
    EXPECT_LE(compare(found->second, outputs(bound.name), bound.summed).rel_l2, bound.l2) << bound.name;
  }
}

}  // namespace danaus
