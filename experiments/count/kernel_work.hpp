// Counted work as the model takes it.
#pragma once

#include <vector>

#include "experiments/code/machine_code.hpp"
#include "kernels/cpu/program_work.hpp"
#include "model/roofline.hpp"

namespace danaus {

// Of the launches of prepare(), or of execute(). What the counters do not say is what launches must move
// (LaunchWork::l2_bytes, hbm_bytes), and what the compiler reports: a number that has no register is stored and loaded
// once in a turn of its warp, which is the least that can be.
std::vector<RepeatedWork> kernel_work(const Case& asked, const ProgramWork& program, const Device& device,
                                      bool prepares = false, const MachineCode& compiled = machine_code());

}  // namespace danaus
