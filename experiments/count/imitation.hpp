// The executor in place of the device that a hardware profile describes.
#pragma once

#include "kernels/plan/machine.hpp"
#include "model/profile.hpp"

namespace danaus {

// With its multiprocessors and its shared memory, and so with the kernels that a plan would choose there. Throws where
// it has too little shared memory for any.
Device imitation(const HardwareProfile& profile);

}  // namespace danaus
