// Outputs against the truth of the rows that are checked.
#pragma once

#include "experiments/bench/checked_rows.hpp"
#include "experiments/bench/contenders.hpp"
#include "experiments/cli/environment.hpp"

namespace danaus {

// `computed` are the checked rows of each output. The verdict() of that which takes most of its bound, with "output",
// its name, where there are several, and of each of them "outputs": {name: {"rel_l2", "bound", "clearance"}}; "truth",
// "rows" and "of".
Json verdict_on_rows(const CheckedRows& rows, const Values& computed, const Runner& runner);

}  // namespace danaus
