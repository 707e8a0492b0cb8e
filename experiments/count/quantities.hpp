// What the executor and a GPU both count, and how far apart they may be.
#pragma once

#include <vector>

#include "experiments/count/counted.hpp"

namespace danaus {

// Of a hardware counter.
struct Range {
  double least, most;
  bool holds(double value) const { return least <= value && value <= most; }
};

// Tensor copies pass L1 by paths of their own, which have their own metrics.
struct ComparedQuantity {
  const char* name;
  double (*counted)(const Counted& c);
  std::vector<const char*> metrics;                     // their sum; "sass:" begins an opcode
  double scale;                                         // of what the metrics count to what is counted
  Range (*expected)(const Counted& c, double counted);  // what lies outside has no explanation
  const char* why;                                      // it is not what is counted; empty: it is
};

const std::vector<ComparedQuantity>& compared_quantities();

}  // namespace danaus
