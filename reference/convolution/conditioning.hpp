// What a convolution's rounding errors are relative to.
#pragma once

#include "reference/convolution/convolution.hpp"
#include "reference/convolution/data.hpp"

namespace danaus {

// The L2 norm of y were nothing cancelled and nothing trimmed: the root of sum |w u|^2 |k|^2 mean(v^2) over the rows. A
// convolution by FFT errs in proportion to it, also where y itself is small. k is what a mask leaves of it.
double summed(const Convolution& problem, const Inputs& inputs);

}  // namespace danaus
