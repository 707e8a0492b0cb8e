// What is timed by default: lists of cases, built here and nowhere else.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "reference/problem.hpp"

namespace danaus {

struct BenchSweep {
  std::string_view name;
  std::string_view question;
  std::vector<Problem> (*cases)();
};

// The first one, `speed`, is the default and holds all others.
std::span<const BenchSweep> bench_sweeps();

}  // namespace danaus
