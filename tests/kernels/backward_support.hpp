// What kernels of gradients must give.
#pragma once

#include <cmath>
#include <numeric>

#include "kernels/plan/correlation.hpp"
#include "reference/backward/backward.hpp"
#include "reference/backward/bounds.hpp"
#include "reference/truth.hpp"
#include "tests/kernels/support.hpp"

namespace danaus {

// Every output within its bound, and its product with its own input that of y with dy, which knows nothing of how a
// gradient is computed; outputs(name) are the values that a plan for the device, of this variant, has given.
template <class Outputs>
void expect_right(const Backward& asked, const Values& values, const Variant& variant, const Device& device,
                  Outputs outputs) {
  const Values expected = truth(asked, values);
  Values given;
  const auto [of_rows, of_sums] = roundings_of_gradients(asked.forward, variant, device);
  const auto bounds = bounds_of_passes(asked.forward, values, {variant.roundings(), of_rows, of_sums});
  for (const OutputBound& bound : bounds) {
    const auto found = expected.find(bound.name);
    if (found == expected.end()) continue;  // y
    const std::vector<double>& output = given[std::string(bound.name)] = outputs(bound.name);
    EXPECT_LE(compare(found->second, output, bound.summed).rel_l2, bound.l2) << bound.name;
  }
  const std::vector<double> y = truth(asked.forward, values).at("y"), &dy = values.at("dy");
  const double product = std::inner_product(y.begin(), y.end(), dy.begin(), 0.);
  for (const AdjointError& each : adjoint_errors(values, given, product, bounds))
    EXPECT_LE(std::abs(each.error), each.bound) << each.output << " and the product of y with dy";
}

}  // namespace danaus
