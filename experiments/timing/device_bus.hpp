// Where a device is on the PCI bus, by which Monitor finds it: "0000:1b:00.0".
#pragma once

#include <string>

#include "kernels/cuda/runtime.hpp"

namespace danaus {

inline std::string bus_of(int ordinal) {
  char bus[32] = "";
  DANAUS_CUDA(cudaDeviceGetPCIBusId(bus, sizeof(bus), ordinal));
  return bus;
}

}  // namespace danaus
