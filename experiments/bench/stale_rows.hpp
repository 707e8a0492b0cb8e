// Stale rows of a file of measured rows.
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

// The file's rows of that device whose kernels, baselines or stopwatch have changed. Rows of a case stand together; the
// cases keep the order of the file. Rows of a kernel that was asked for by name are left out. Throws
// std::invalid_argument where the file cannot be read or holds anything but rows of bench.
std::vector<TimedCase> stale_rows(const std::string& path, std::string_view device);

}  // namespace danaus
