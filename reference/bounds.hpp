// How far a result that was rounded on its way may be from the truth.
#pragma once

#include <cstdint>

#include "reference/basics.hpp"

namespace danaus {

// Bound on the relative L2 error of a computation that rounds each number R times on its way: c u sqrt(R), u the unit
// roundoff. c is 1 for f16 and bf16, 8 for f32 and 16 for f64; rounding.cpp says what was measured. Each kernel
// counts its own roundings.
double bound_l2_of_roundings(Dtype dtype, int roundings);

// Stages of an FFT of radix 2 that has at least so many points.
int radix2_stages(std::int64_t points);

// Of bound_l2 what Gaussian data may take, of so many samples and more: rounding takes 0.3 to 0.5 of it. What takes
// more computes something else, or counts its roundings wrong.
inline constexpr double kUsualShare = 0.6;
inline constexpr std::int64_t kManySamples = 256;

// By how much so few independent errors may exceed bound_l2, which is 1.7 times the rms of many: the root of 1 + 8 / n,
// which one in a million sets of n Gaussian errors exceeds (n = 1: 3, 5: 1.6, 30: 1.1). Outputs that differ in size
// are as many as (sum y^2)^2 / sum y^4, since errors are in proportion to them.
double excess_of_few(double independent);

// Bound on the largest error over the largest expected value among `samples` outputs: bound_l2 (1 + sqrt(2 ln
// samples)), the largest of that many Gaussian errors, whose rms is at most bound_l2 times the largest expected value,
// with one rms to spare.
double bound_max(double bound_l2, std::int64_t samples);

// Bound on the error of the gain: 0.7 %, and two rms of what `samples` independent errors make of it. In bf16, where
// bound_l2 is above 1 % from R = 7 on, it is what sees a wrong factor of 1 %; below 0.7 % it is bound_l2, which limits
// the gain by itself. Not for data whose energy is in one frequency (constant data): there the rounding of a single
// number is an error of scale.
double bound_gain(double bound_l2, std::int64_t samples);

}  // namespace danaus
