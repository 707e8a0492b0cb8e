// What a list of repeated measurements comes to.
#pragma once

#include <vector>

namespace danaus {

struct Quartiles {
  double q1, median, q3;
};

// Between two neighbours by linear interpolation. Throw without values.
Quartiles quartiles(std::vector<double> values);
double quantile(std::vector<double> values, double share);

}  // namespace danaus
