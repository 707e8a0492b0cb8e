// How much memory a case takes, known before anything is allocated.
#pragma once

#include "reference/problem.hpp"

namespace danaus {

// Bytes for the case's arrays in double, its results and the complex work of one row. The case has its fold and N;
// without factors the tables of the Monarch stages are not counted.
double memory_of(const Problem& resolved);

}  // namespace danaus
