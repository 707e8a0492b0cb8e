#include "experiments/bench/monitor.hpp"
#include "experiments/record/check.hpp"
#include "kernels/cuda/runtime.hpp"

namespace danaus {

std::optional<std::string> gpu_driver(int ordinal) {
  char bus[32] = "";
  DANAUS_CUDA(cudaDeviceGetPCIBusId(bus, sizeof(bus), ordinal));
  return Monitor(bus).driver();
}

}  // namespace danaus
