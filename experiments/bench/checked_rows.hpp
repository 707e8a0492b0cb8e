// A case too large to be checked whole: some of its rows, and what they must become.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "experiments/cli/environment.hpp"
#include "experiments/methods/runner.hpp"
#include "experiments/operations/subject.hpp"
#include "reference/judge.hpp"

namespace danaus {

struct CheckedRows : SomeRows {
  Values inputs;      // of input set 0, rounded as they are on the device
  Expected expected;  // the truth in double
  // The norm of what was summed to an output, over that of the output, where that is less.
  double size_of_sums(std::string_view output) const;
};

// The first and the last of batch and channels and others between, as Subject::some_rows() has them. Throws for
// operations that are not timed.
CheckedRows checked_rows(const Case& asked);

// verdict_row() on the checked rows of each output, with "rows" and "of"; of several outputs also "outputs": {name:
// {"rel_l2", "bound", "clearance", "row"}}. What does not compute is to be u.
Json verdict_on_rows(const CheckedRows& rows, const Values& computed, const Runner& runner);

}  // namespace danaus
