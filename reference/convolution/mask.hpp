// Frequency sparsity: which part of the filter's spectrum a case removes.
//
// For patterns and blocks the spectrum is reshaped to the factors, last factor first: dimension 1 is the last stage's
// frequency digit dp, the most significant one, and the last dimension is d1 (monarch.hpp draws the digits). Source of
// the patterns: Fu et al. 2023, A.4 and Table 10. What a transform may leave out where frequencies are removed is
// kernels/plan/live_blocks.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/convolution/convolution.hpp"

namespace danaus {

// 1 where the frequency is kept, 0 where it is removed; [N], natural order. All 1 without a mask. Throws where blocks
// and their mirror images are all that there is.
std::vector<std::uint8_t> kept_frequencies(const Convolution& problem);

// kept_frequencies() as a plan takes them: of a convolution that removes some; empty for every other case.
std::vector<std::uint8_t> marks_of(const Case& asked);

// Removed frequencies over N. For the literal reading this is S of Table 10, 1 - prod (N_i - zeroed_i) / N_i. The
// hermitian one removes less: the paper's (16, 0, 0, 0) of 32 x 32 x 32 x 64 is the lower half of the spectrum, whose
// mirror is the upper half, and removes the frequency N/2 alone.
double sparsity(const Convolution& problem);

// What the mask multiplies the half spectrum [N/2 + 1] of a real filter by, given that only the real part of the answer
// is kept: the mean of a frequency's and its mirror's 1 or 0. Empty without a mask.
std::vector<double> real_mask_weights(const Convolution& problem);

}  // namespace danaus
