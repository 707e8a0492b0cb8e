// How much memory a case takes, known before anything is allocated, and how much there is.
#pragma once

#include <string>

#include "reference/convolution/convolution.hpp"
#include "reference/operation.hpp"

namespace danaus {

// Bytes for the case's arrays in double, its results and the complex work of one row. The case has its fold and N;
// without factors the tables of the Monarch stages are not counted.
double memory_of(const Convolution& resolved);
// The same for a case of another operation, by its arrays. Values, truth and transforms take a copy of each in double.
// The machine's memory has another.
double memory_of(const Case& asked);

// Bytes that this process may still allocate: the least of the limits of machine, control group and ulimit.
double available_memory();

// Throws std::invalid_argument with both numbers unless `bytes` fit.
void require_memory(const std::string& operation, double bytes);

}  // namespace danaus
