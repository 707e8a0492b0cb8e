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

#include "reference/bounds.hpp"
#include "reference/convolution/convolution.hpp"
#include "reference/convolution/data.hpp"
#include "reference/names.hpp"

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
std::vector<double> convolve_rounded(const Convolution& problem, const Inputs& inputs,
                                     Scaling scaling = Scaling::unitary);

// Bound on the relative L2 error of a kernel that computes the case in f16 with so many roundings, gates aside. f16
// samples are rounded by each gate too; bf16 samples, which become f16 by a power of two, by the pregate and when they
// are y.
double bound_l2_of_kernel(const Convolution& problem, int roundings);

// The bound on the L2 error of dk [H, K], relative to what was summed to it (correlated_terms()). There are so many
// roundings in f16, and one by each gate in the samples' type.
double bound_l2_of_correlation(const Convolution& problem, int roundings);

// bound_l2_of_roundings() for the pipeline above, R = 8 p - 1: each way p matrices, p products, p - 1 twiddles and p -
// 1 twiddled values; the filter's spectrum and the spectrum product; and one to spare.
double bound_l2(Dtype dtype, int order);

}  // namespace danaus
