// How much memory a case takes, known before anything is allocated, and how much there is.
#pragma once

#include <string>

#include "reference/convolution/convolution.hpp"
#include "reference/operation.hpp"

namespace danaus {

// Bytes for the case's arrays in double, its results and the complex work of one row. The case has its fold and N;
// without factors the tables of the Monarch stages are not counted.
double memory_of(const Convolution& resolved);
// The same of a case of another operation, as far as its arrays say: each in double three times, the outputs' truth and
// what transforms need among them, and as it is in memory of the machine.
double memory_of(const Case& asked);

// Bytes that this process may still take: the least of what the machine, its control group and ulimit leave.
double available_memory();

// Throws std::invalid_argument with both numbers unless `bytes` fit.
void require_memory(const std::string& operation, double bytes);

}  // namespace danaus
