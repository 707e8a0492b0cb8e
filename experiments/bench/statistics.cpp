#include "experiments/bench/statistics.hpp"

#include <algorithm>
#include <cmath>

#include "reference/problem.hpp"

namespace danaus {

Quartiles quartiles(std::vector<double> values) {
  if (values.empty()) fail("quartiles: 0 values, must be at least 1");
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return std::lerp(values[below], values[above], place - static_cast<double>(below));
  };
  return {at(0.25), at(0.5), at(0.75)};
}

}  // namespace danaus
