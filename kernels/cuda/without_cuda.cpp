#include "kernels/cuda/machine.hpp"

namespace danaus {

int cuda_device_count() { return 0; }

std::shared_ptr<const Machine> cuda_machine(int ordinal, int) {
  throw NoDevice(text("device: CUDA device ", ordinal, " is asked for, but this build has no CUDA"));
}

}  // namespace danaus
