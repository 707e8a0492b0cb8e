// How far a result is from the truth.
#pragma once

#include <cstdint>
#include <span>

namespace danaus {

struct Comparison {
  double rel_l2;       // ||actual - expected|| / ||expected||
  double rel_max;      // max |actual - expected| / max |expected|
  double snr_db;       // -20 log10(rel_l2): infinite when nothing differs
  std::int64_t worst;  // index of the largest difference, or of the first value that is not finite
  bool finite;         // no NaN and no infinity on either side
};

// Where the truth is zero throughout, a result that is too has errors 0, and any other has infinite ones. A NaN or an
// infinity on either side makes both errors infinite. Throws when the sizes differ or are 0.
Comparison compare(std::span<const double> expected, std::span<const double> actual);

// The one verdict: finite, and both errors at most their bounds.
bool within(const Comparison& comparison, double bound_l2, double bound_max);

}  // namespace danaus
