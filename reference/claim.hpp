// The verdict on outputs of any computation, by the class of arithmetic that it claims. Kernels are judged by
// verdict_on() of judge.hpp, by their own counts of roundings.
//
// The judge first forgives each number one rounding to its type, half a unit in the last place. So a cast inside shows,
// although outputs have 16 bits. The rest of a row's error is relative to what was summed to the row. Its bound has two
// terms: c u sqrt(R) of a computation by FFTs, and u sqrt(K) of a sum of K products.
#pragma once

#include <array>

#include "reference/judge.hpp"
#include "reference/names.hpp"

namespace danaus {

struct Claim {
  Dtype inside = Dtype::f32;  // the type between stages; f64: outputs are the truth, rounded once
  int roundings = 0;          // R; 0: of FFTs of radix 2 there and back
  int results = 1;            // that err: 2 where outputs are compared with another result, whose bounds add up
};

// By the word of `inside`, from the finest on.
inline constexpr std::array kClaims = {
    Named{Dtype::f64, "rounding", "the output is the truth, rounded once"},
    Named{Dtype::f32, "fp32", "fp32 inside"},
    Named{Dtype::f16, "fp16", "fp16 between stages, or TF32"},
    Named{Dtype::bf16, "bf16", "bf16 between stages"},
};

// On the relative L2 error of a row, before its numbers are rounded to their type.
double claimed_bound(const RowWork& work, const Claim& claim);

// On the outputs that are given. `expected` is another result, or the truth in double. Without it the truth is
// computed. Throws where an array is missing or of another size.
Verdict claimed_verdict(const Case& asked, const Values& inputs, const Values& outputs, const Claim& claim,
                        const Values* expected = nullptr);

}  // namespace danaus
