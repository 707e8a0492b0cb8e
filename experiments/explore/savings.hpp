// What a kernel saves that leaves out dead blocks: that of the case's plan. Two low-passes of it are counted, one with
// few live blocks and one with all; all others lie between them, nothing is executed again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/count/counted.hpp"
#include "kernels/plan/live_blocks.hpp"
#include "model/cost.hpp"
#include "model/profile.hpp"
#include "model/roofline.hpp"

namespace danaus {

struct Expense {
  double us = 0;                                     // predicted
  std::string limit;                                 // what needs most of it
  std::optional<double> matrix_instructions, bytes;  // of warps; through memory. Counted, where a kernel is
  bool skips = false;                                // by a kernel that leaves out dead blocks
};

// Of one case without a mask, which has fold, N and factors, and of the same with masks.
//
// By counted work where the device has a fused kernel of these factors, else by Eq. 2:
//   counted  where a plan for the mask takes a kernel that skips (LivePart in kernels/plan/live_blocks.hpp),
//   instructions
//            and accesses grow with its live blocks, the spectrum's bytes with the live part of it; u and y are moved
//            whole. Where it takes the dense kernel, that is what the mask costs
//   Eq. 2    each term of the sum falls to the live part of its stage's blocks, as if a kernel left out all of them
class Savings {
 public:
  Savings(const Convolution& problem, const HardwareProfile& profile);

  std::string model() const { return counted_ ? "counted work" : "Eq. 2"; }
  const Expense& dense() const { return dense_; }
  Expense of(const Convolution& masked) const;

 private:
  struct Masked {  // by the kernel that skips
    ProgramWork work;
    LivePart part;
  };
  std::optional<Masked> low_pass(std::int64_t last) const;
  Expense by_counted_work(const ProgramWork& program) const;
  ProgramWork between(const LivePart& part) const;

  Convolution problem_;
  HardwareProfile profile_;
  Device device_;
  std::optional<ProgramWork> counted_;
  std::optional<Masked> least_, most_;  // one live frequency; the widest that a kernel skips, all blocks live
  Prediction eq2_;
  Expense dense_;
};

// Live blocks of a case with factors: of its own frequencies where a row is computed alone with what a literal mask
// leaves (plain fold), of those and their mirrors else.
std::vector<LiveStage> live_blocks_of(const Convolution& problem);

}  // namespace danaus
