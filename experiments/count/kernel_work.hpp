// Counted work as the model takes it.
#pragma once

#include <vector>

#include "kernels/cpu/program_work.hpp"
#include "model/roofline.hpp"

namespace danaus {

// Of the launches of prepare(), or of execute(). What the counters do not say is what launches must move
// (LaunchWork::l2_bytes, hbm_bytes).
std::vector<RepeatedWork> kernel_work(const Case& asked, const ProgramWork& program, const Device& device,
                                      bool prepares = false);

}  // namespace danaus
