// What a door was given and gave, held to the truth in double by the one judge, row by row.
#pragma once

#include <string>

#include "reference/judge.hpp"

namespace danaus::conformance {

// How a door computes: what it promises, and bounds in place of those of the promise.
struct Arithmetic {
  Promise promise;
  Bounds bounds;
};

// Of the kernels that a plan on an H100 or H200 has.
Arithmetic by_kernel(const Case& asked);
// In double, outputs rounded once to their types.
Arithmetic in_double(const Case& asked);
// Of PyTorch's own functions on a CPU: samples of 16 bits in float32, others in their own type; rounded once.
Arithmetic in_samples_type(const Case& asked);
// The same where a gradient is rounded to the type of what it is the gradient of, as PyTorch does.
Arithmetic rounded_as_inputs(const Case& asked, Arithmetic arithmetic);

// Empty where every output is right, over all rows and row by row; else the worst of it in words. Throws where outputs
// are missing or of another size.
std::string complaint(const Case& asked, const Values& inputs, const Values& outputs, const Arithmetic& arithmetic);

}  // namespace danaus::conformance
