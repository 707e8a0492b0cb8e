// What a kernel would save that skipped dead blocks: today's kernels compute all of them. Counts of the dense kernel
// are extrapolated from the live blocks, nothing is executed again.
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
};

// Of one case without a mask, which has fold, N and factors.
//
// By counted work where the device has a kernel of these factors that runs in one launch, else by Eq. 2:
//   counted  an instruction makes 8 digits of a stage, whichever, since the rows of its matrix may stand in any order:
//            as many stay as the live digits need. So matrix instructions fall to the mean of what is left of the
//            stages, weighted by those of the stages (factor / 8; none below 8); arithmetic between them and accesses
//            to shared memory to the plain mean; the spectrum to its live part. u, gates and y are moved whole
//   Eq. 2    each term of the sum falls to the live part of its stage's blocks
class Savings {
 public:
  Savings(const Convolution& problem, const HardwareProfile& profile);

  std::string model() const { return counted_ ? "counted work" : "Eq. 2"; }
  const Expense& dense() const { return dense_; }
  Expense of(const std::vector<LiveStage>& stages) const;

 private:
  Expense by_counted_work(const std::vector<LiveStage>& stages) const;

  Convolution problem_;
  HardwareProfile profile_;
  Device device_;
  std::optional<ProgramWork> counted_;
  Prediction eq2_;
  Expense dense_;
};

// Live blocks of a case with factors: of its own frequencies where a row is computed alone with what a literal mask
// leaves (plain fold), of those and their mirrors else.
std::vector<LiveStage> live_blocks_of(const Convolution& problem);

}  // namespace danaus
