#include "experiments/operations/work.hpp"

#include <algorithm>

#include "reference/step/step.hpp"

namespace danaus {

double moved_bytes(const Case& asked) {
  if (const auto* step = asked.as<TrainingStep>())
    return moved_bytes(step->forward) + moved_bytes(Backward{step->forward});
  const std::vector<Array> arrays = asked.arrays();
  const auto is_filter_or_gradient = [&](const Array& array) {
    return std::ranges::any_of(arrays, [&](const Array& filter) {
      const bool is_gradient = array.name.starts_with('d') && array.name.substr(1) == filter.name;
      return filter.role == Role::filter && (array.name == filter.name || is_gradient);
    });
  };
  double sum = 0;
  for (const Array& array : arrays)
    if (!is_filter_or_gradient(array))
      sum += static_cast<double>(bytes(array.dtype)) * static_cast<double>(array.size());
  return sum;
}

}  // namespace danaus
