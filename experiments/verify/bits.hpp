// Whether a GPU's outputs are the executor's in every bit, and if not, where they part.
#pragma once

#include <limits>
#include <memory>

#include "experiments/cli/environment.hpp"
#include "experiments/verify/trials.hpp"
#include "kernels/plan/machine.hpp"
#include "reference/operation.hpp"
#include "reference/truth.hpp"

namespace danaus {

// The executor with the launches of a device's plans. Launches of at most `whole_blocks` blocks are executed whole.
std::shared_ptr<const Machine> executor_like(const Device& device,
                                             std::int64_t whole_blocks = std::numeric_limits<std::int64_t>::max());

// Fields of a row: "status" (same, different), "numbers", and where some differ "differing", "first": output, row,
// sample, "on_device", "on_executor" and "ulps" between them, and "launch", the first one that left other bits.
Json compared_bits(const Case& asked, const Values& values, const std::shared_ptr<const Machine>& device,
                   const std::shared_ptr<const Machine>& executor);

// Of a trial on the GPU. Of recorded data it is "skipped", with a "reason".
Json bits_of(const Trial& trial);

// What the rows with such fields come to.
class BitVerdicts {
 public:
  void add(const Json& row);
  void print(std::ostream& out) const;
  int different() const { return different_; }

 private:
  int same_ = 0, different_ = 0;
  std::string first_;  // of those that differ, in words
};

}  // namespace danaus
