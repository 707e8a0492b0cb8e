#include "experiments/bench/work.hpp"

#include "reference/step/step.hpp"

namespace danaus {

double moved_bytes(const Case& asked) {
  if (const auto* step = asked.as<TrainingStep>())
    return moved_bytes(step->forward) + moved_bytes(Backward{step->forward});
  double sum = 0;
  for (const Array& array : asked.arrays())
    if (array.role != Role::filter && array.name != "dk" && array.name != "dw" && array.name != "dbias")
      sum += static_cast<double>(bytes(array.dtype)) * static_cast<double>(array.size());
  return sum;
}

}  // namespace danaus
