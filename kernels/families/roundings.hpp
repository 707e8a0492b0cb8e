// How often a kernel rounds a sample on its way from u to y. Each number that it meets or becomes is rounded once, each
// way:
//   a stage of mma     its matrix; its product; of 16 points one more, for the sum of two instructions or before them;
//                      of 24 two more
//   a radix of sums    as many additions and products as one value depends on, its constants included
//   a twiddle          itself, and two products added by a fused multiply-add
// Between the two ways the spectrum and the product with it, as a twiddle. The right angle's weights are part of
// matrices and twiddles but where a radix of sums comes first: there, those over its blocks round as a twiddle does.
#pragma once

namespace danaus {

inline constexpr int kTwiddleRoundings = 3;

}  // namespace danaus
