// GPUs as machines that plans run on.
#pragma once

#include <memory>

#include "kernels/plan/machine.hpp"

namespace danaus {

// How many CUDA devices there are; 0 without CUDA or a driver.
int cuda_device_count();

// Throws where there is no such device, or the build has no CUDA. `multiprocessors` of it, where that is not 0:
// launches are then shared out as if there were no more.
std::shared_ptr<const Machine> cuda_machine(int ordinal = 0, int multiprocessors = 0);

// Its limits.
inline Device cuda_device(int ordinal = 0) { return cuda_machine(ordinal)->device(); }

}  // namespace danaus
