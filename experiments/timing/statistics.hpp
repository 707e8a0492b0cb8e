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
// Of the ratios of what was measured in the same turns. Throws where there are not as many.
Quartiles ratios(const std::vector<double>& over, const std::vector<double>& under);

}  // namespace danaus
