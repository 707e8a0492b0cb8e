// How far a result is from the truth.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

namespace danaus {

struct Comparison {
  double rel_l2;         // ||actual - expected|| / ||expected||, or over what was summed
  double rel_max;        // max |actual - expected| / max |expected|, or over the rms of what was summed
  double snr_db;         // -20 log10(rel_l2): infinite when nothing differs
  double gain_error;     // <expected, actual - expected> / <expected, expected>: 0.01 when actual is 1.01 expected
  std::int64_t worst;    // index of the largest difference, or of the first value that is not finite
  bool finite;           // no NaN and no infinity on either side
  double cancelled = 1;  // what was summed over ||expected||, where errors are relative to what was summed; else 1
};

// Up to here of what was summed over the truth, errors are relative to the truth.
inline constexpr double kWellConditioned = 2;

// `summed` is the norm that the truth would have if nothing had cancelled (judge.hpp). Errors are relative to it where
// it is more than kWellConditioned times the norm of the truth. The truth may then be zero throughout, and the gain's
// error is 0. Where `summed` is zero too, a result of zeros has errors of 0, and any other has infinite ones. So has a
// NaN or an infinity on either side. Throws when the sizes differ or are 0.
Comparison compare(std::span<const double> expected, std::span<const double> actual, double summed = 0);

// The one verdict: finite, every error at most its bound. The gain's error is never larger than the L2 error; a bound
// of its own is for types so coarse that a wrong factor hides in their noise (bound_gain() in bounds.hpp).
bool within(const Comparison& comparison, double bound_l2, double bound_max,
            double bound_gain = std::numeric_limits<double>::infinity());

}  // namespace danaus
