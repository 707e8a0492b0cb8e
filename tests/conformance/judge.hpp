// One judge for every door: what a door was given and gave, held to the truth in double, row by row.
#pragma once

#include <map>
#include <string>

#include "reference/truth.hpp"

namespace danaus::conformance {

// Bounds on the relative L2 error of each output.
using Bounds = std::map<std::string, double, std::less<>>;

// Of the kernels that a plan on an H100 or H200 has.
Bounds bounds_of_kernel(const Case& asked, const Values& inputs);
// Of a computation in double whose outputs are rounded once to their types.
Bounds bounds_of_double(const Case& asked);
// Of PyTorch's own functions on a CPU: samples of 16 bits in float32, others in their own type; rounded once.
Bounds bounds_of_samples_type(const Case& asked);
// The same bounds where a gradient is rounded to the type of what it is the gradient of, as PyTorch does.
Bounds rounded_as_inputs(const Case& asked, Bounds bounds);

// A row is what an output has for one index of each of B, H and C, which Array::shape names. Errors of a row are
// relative to what was summed to it: the norm that it would have if nothing cancelled (OutputBound::summed of the same
// case with this row alone).
//
// Empty where every row of every output is within its bound; else the worst row in words. Throws where outputs are
// missing or of another size.
std::string complaint(const Case& asked, const Values& inputs, const Values& outputs, const Bounds& bounds);

}  // namespace danaus::conformance
