// The truth of any case: reproducible inputs, and the outputs in double.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reference/operation.hpp"

namespace danaus {

// Numbers of arrays by name, each already rounded to its array's type.
using Values = std::map<std::string, std::vector<double>, std::less<>>;

// What a folder's truth.cpp provides as <folder>_truth().
struct Truth {
  std::string_view word;  // of the operation
  Values (*make_values)(const Case& asked, std::uint64_t seed);
  Values (*outputs)(const Case& asked, const Values& values);
};

// Inputs and filters of the case. Another seed gives others.
Values make_values(const Case& asked, std::uint64_t seed = 0);

// Outputs for these inputs and filters.
Values truth(const Case& asked, const Values& values);

}  // namespace danaus
