// Sums of a short filter's gradient: [parts, H, count + 1], of each part of a channel its lags and the sum of dy. What
// a part has, and in which order it is summed, depends on the numbers here alone.
#pragma once

#include "kernels/memory/division.hpp"

namespace danaus {

// The items of part `part` of a channel's, numbered along a row, then along the batch.
DANAUS_HOST_AND_DEVICE ItemRange items_of_part(long long items, int part, int parts) {
  const int first = static_cast<int>(items * part / parts);
  return {first, static_cast<int>(items * (part + 1) / parts) - first};
}

// Where a part's sums of a channel are, `a` the arguments of a kernel that makes them.
template <class Arguments>
DANAUS_HOST_AND_DEVICE float* sums_of(const Arguments& a, int part, int channel) {
  return a.sums + (static_cast<long long>(part) * a.channels + channel) * (a.count + 1);
}

}  // namespace danaus
