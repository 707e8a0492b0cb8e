// Many independent computations, their results handed over in order.
#pragma once

#include <cstddef>
#include <functional>

#include "experiments/cli/environment.hpp"

namespace danaus {

// Calls compute(i) for every i below `count` on `threads` threads, or with 1 on this one, and deliver(i, result) on
// this one, i ascending. Stops early, by Interrupted, where an interrupt was requested: what was delivered stays. An
// exception of either function ends it all.
void compute_in_order(std::size_t count, unsigned threads, const std::function<Json(std::size_t)>& compute,
                      const std::function<void(std::size_t, const Json&)>& deliver);

}  // namespace danaus
