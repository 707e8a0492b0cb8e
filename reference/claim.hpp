// The verdict on outputs of any computation, by the class of arithmetic that it claims. verdict_on() of judge.hpp
// judges kernels by their own counts of roundings.
//
// Of each number the judge first forgives one rounding to its type, half a unit in the last place. What is left of a
// row's error is within c u sqrt(R) of what was summed to the row, as of a computation by FFTs, or within u sqrt(K), as
// of a sum of K products. So a cast inside shows, although outputs have 16 bits.
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

// Of the outputs that are given. `expected` are another result, or the truth in double where that is known; without
// it the truth is computed. Throws where an array is missing or of another size.
Verdict claimed_verdict(const Case& asked, const Values& inputs, const Values& outputs, const Claim& claim,
                        const Values* expected = nullptr);

}  // namespace danaus
