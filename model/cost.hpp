// The analytical cost of a Monarch convolution, term by term: Fu et al. 2023, Eq. 2.
//
//   C = B H sum_i [ 16 N N_i / gamma(N_i)  +  4 N / omega(i) ]
//
// 16 N N_i  flops of step i: N N_i complex multiply-adds of 8 flops, forward and inverse
// gamma     the matrix unit's rate where N_i reaches the unit's side, else the rate of general arithmetic
// 4 N       bytes of one complex sequence of 16-bit values: the intermediate of step i
// omega     bandwidth of the memory that holds it, by the rule in model/factorization.hpp
//
// gamma and the bandwidth of SRAM are those at the profile's load clock, where it has one.
//
// Eq. 2 adds compute and memory time, as if nothing overlapped, and sees no reads of k_f, gates, masks or launches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/factorization.hpp"
#include "model/profile.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus {

// One step of the decomposition. Times are for all B*H sequences.
struct Term {
  int factor = 0;  // N_i
  double compute_us = 0;
  double memory_us = 0;
  std::string unit;    // "matrix" or "general"
  std::string memory;  // "sram" or "hbm"
  std::string reason;  // why this unit and this memory
};

struct Prediction {
  std::string profile;
  std::string model;        // "eq2"
  std::vector<Term> terms;  // outermost step first
  double total_us = 0;
  double ps_per_token_bh = 0;      // total over B*H*N, N in real samples: the paper's "cost per token" at B*H = 1
  std::string limit;               // what takes the largest share: "matrix", "general", "sram" or "hbm"
  std::vector<std::string> notes;  // what the number does not say: assumptions, and inputs that Eq. 2 cannot see
};

// Orders that the paper has and choose_order() chooses from.
inline constexpr int kOrders[] = {2, 3, 4};

// The order of kOrders with the smallest Eq. 2 cost for a transform of `points` (a power of two, at least 4).
int choose_order(std::int64_t points, const HardwareProfile& profile);

// The case with everything chosen that it leaves open, for a prediction: the fold as resolved() has it, the smallest
// power of two N that the fold needs, and factors of the given order, or of the cheapest one where `order` is 0.
Convolution with_factors(Convolution problem, const HardwareProfile& profile, int order = 0);

// Eq. 2 for a case with factors. Folds change how many complex sequences there are (pair: one for two batch rows) or
// how long they are (half: N/2 points); the paper's own count is the plain fold. Throws unless the case is valid,
// 16-bit and has factors, see with_factors().
Prediction predict_eq2(const Convolution& problem, const HardwareProfile& profile);

}  // namespace danaus
