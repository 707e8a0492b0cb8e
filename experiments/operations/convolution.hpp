// Random convolutions, for operations that contain one.
#pragma once

#include <set>
#include <string>

#include "experiments/operations/study.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus {

// Without N, fold, factors and mask.
Convolution random_convolution(Draw& draw);
// Of the kernels that its plan may run.
std::set<std::string> convolution_families();

}  // namespace danaus
