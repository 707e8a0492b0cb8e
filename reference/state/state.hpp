// What is asked: a causal convolution whose filter is a diagonal state-space model, described completely by one word,
// its token.
//
//   x[n] = A x[n-1] + B u[n],  y[n] = Re sum_s C_s x_s[n],  that is, y = conv(u, k) with k[n] = Re sum_s C_s A_s^n B_s
//
// with S complex states a channel (S4D, Gu et al. 2022; H3, Dao et al. 2023). What comes before the first sample is in
// a state too, so that a sequence may be cut anywhere: the final state of a part is the initial one of the next.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/operation.hpp"

namespace danaus {

// One case. Shapes:
//   u, y [B, H, L] of the case's dtype
//   a, b, c [H, S, 2], re and im, fp32; of f64 samples f64
//   x_initial, x_final [B, H, S, 2] of the same type: x before the first sample and after the last
struct StateSpace {
  Dtype dtype = Dtype::f16;   // of u and y
  int states = 1;             // S
  std::int64_t length = 1;    // L
  std::int64_t batch = 1;     // B
  std::int64_t channels = 1;  // H
  int chunk = 0;              // samples that a kernel computes at a time; 0 leaves it open
  bool initial = false;       // takes x_initial, which is zero otherwise
  bool final = false;         // gives x_final
  bool unstable = false;      // |A| > 1 is meant

  bool operator==(const StateSpace&) const = default;
};

inline constexpr int kMostStates = 256;

// The case as one word, and back. Fields in this order, those in brackets only where they say something:
//   ssmconv_<dtype>_s<S>_l<L>_b<B>_h<H>[_t<chunk>][_initial][_final][_unstable]
// for example ssmconv_f16_s64_l65536_b64_h768. parse() accepts exactly what token() prints, with the fields in any
// order, and says which field of a wrong token breaks which rule.
std::string token(const StateSpace& problem);
StateSpace parse_state(std::string_view token);

// What reference/operation.hpp asks of every operation.
std::vector<Array> arrays(const StateSpace& problem);
double useful_flops(const StateSpace& problem);

// Throws unless the case means something: positive sizes, at most 256 states. parse_state() calls it.
void validate(const StateSpace& problem);

// Throws where a pole, re and im of `a` [H, S, 2], is no number or has |A| > 1 by more than the rounding of fp32,
// unless the case says that it may.
void check_poles(const StateSpace& problem, std::span<const float> a);

}  // namespace danaus
