// What a tensor-core Monarch convolution loses to rounding: a model of it, and the bounds that tests use.
//
// The model runs the Monarch pipeline with every matrix, twiddle, spectrum and stored intermediate rounded to the
// case's dtype (subnormals and overflow included) and products accumulated in fp32 (f64: in fp64). It does forward: for
// each stage product, round, twiddle, round; spectrum product, round; and the inverse alike. Gates round once each. The
// right angle's weights are folded into the first matrix and twiddle, and into the last, and cost no rounding.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "reference/data.hpp"
#include "reference/names.hpp"
#include "reference/problem.hpp"

namespace danaus {

// Where the factor 1/N of forward and inverse transform goes. The filter's spectrum is the unnormalised DFT of k either
// way: computed in double, rounded once, it keeps the filter's own scale.
enum class Scaling { unitary, one_side };

inline constexpr std::array kScalings = {
    Named{Scaling::unitary, "unitary", "1/sqrt(Ns) in every DFT matrix: intermediates keep the scale of u"},
    Named{Scaling::one_side, "one_side",
          "1/N in the first forward twiddle: intermediates shrink to scale / sqrt(N), too small for fp16"},
};

std::string_view name(Scaling scaling);

// y [B, H, L] as such a kernel would give it; compare() it with convolve() for the predicted error of an order, a dtype
// and a data scale.
std::vector<double> convolve_rounded(const Problem& problem, const Inputs& inputs, Scaling scaling = Scaling::unitary);

// Bound on the relative L2 error of a computation that rounds each number R times on its way: c u sqrt(R), u the unit
// roundoff. c is 1 for f16 and bf16, 8 for f32 and 16 for f64; rounding.cpp says what was measured. A kernel that
// rounds more often than the pipeline above (fp16 accumulators, for example) gives its own count.
double bound_l2_of_roundings(Dtype dtype, int roundings);

// The same for the pipeline above, R = 8 p - 1: each way p matrices, p products, p - 1 twiddles and p - 1 twiddled
// values; the filter's spectrum and the spectrum product; and one to spare.
double bound_l2(Dtype dtype, int order);

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
