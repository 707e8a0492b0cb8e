// The rows and the filter of the long convolution inside a gated one.
#pragma once

#include "reference/convolution/data.hpp"
#include "reference/gated/gated.hpp"
#include "reference/truth.hpp"

namespace danaus {

// In double: parts after their short filters, k with the skip added to its first tap. `summed`: of each sample of a
// part what was summed to it, the root of its products' squares, where that is more than the sample.
Inputs filtered(const GatedConvolution& p, const Values& values, bool summed = false);

}  // namespace danaus
