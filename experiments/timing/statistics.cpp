#include "experiments/timing/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "reference/convolution/convolution.hpp"

namespace danaus {

namespace {

double at_share(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

}  // namespace

Quartiles quartiles(std::vector<double> values) {
  if (values.empty()) fail("quartiles: 0 values, must be at least 1");
  std::sort(values.begin(), values.end());
  return {at_share(values, 0.25), at_share(values, 0.5), at_share(values, 0.75)};
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) fail("quantile: 0 values, must be at least 1");
  std::sort(values.begin(), values.end());
  return at_share(values, share);
}

Quartiles ratios(const std::vector<double>& over, const std::vector<double>& under) {
  if (over.size() != under.size()) fail("ratios: ", over.size(), " values over ", under.size(), ", must be as many");
  std::vector<double> values(over.size());
  std::ranges::transform(over, under, values.begin(), std::divides());
  return quartiles(values);
}

}  // namespace danaus
