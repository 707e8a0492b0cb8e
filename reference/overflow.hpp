// Values that are too large for their type.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "reference/half.hpp"

namespace danaus {

inline bool overflows(Dtype dtype, double value) {
  return std::isfinite(value) && !std::isfinite(round_to(dtype, value));
}

inline std::int64_t overflow_count(Dtype dtype, std::span<const double> values) {
  std::int64_t count = 0;
  for (double value : values) count += overflows(dtype, value);
  return count;
}

}  // namespace danaus
