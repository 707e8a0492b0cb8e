// The numbers that a kernel can store: rounding of a double to fp16, bf16 or fp32 and back.
#pragma once

#include "reference/basics.hpp"

namespace danaus {

// Nearest value of `dtype`, ties to even, in one rounding (never through a second type), subnormals included. Too large
// becomes infinity, NaN stays NaN, f64 is the identity.
double round_to(Dtype dtype, double value);

// The same from fp32, as a kernel rounds an accumulator; f32 and f64 are the identity.
float round_to(Dtype dtype, float value);

// Half of the distance between numbers of `dtype` near this one: what rounding to it takes at most. Of 0 and of
// subnormal numbers it is half of the least step.
double half_ulp(Dtype dtype, double value);

}  // namespace danaus
