// What a file of measured rows asks to be timed again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiments/methods/method.hpp"

namespace danaus {

struct TimedCase {
  Case asked;
  const Method* method;
};

// The rows of that device whose kernels, baselines or stopwatch have changed, in the order of the file, those of a case
// together; without those of a kernel that was asked for by name. Throws std::invalid_argument where the file cannot be
// read or holds anything but rows of bench.
std::vector<TimedCase> stale_rows(const std::string& path, std::string_view device);

}  // namespace danaus
