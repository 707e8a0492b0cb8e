// Counted work as the model takes it.
#pragma once

#include "experiments/count/counted.hpp"
#include "model/roofline.hpp"

namespace danaus {

// What the counters do not say is what the case must move: u, gates and y once through memory, a channel's spectrum
// once, and through L2 once for each time that the kernel reads it. `concurrent` blocks run at once; 0: as the kernel
// is tuned.
KernelWork kernel_work(const Counted& counted, const Device& device, std::int64_t concurrent = 0);

}  // namespace danaus
