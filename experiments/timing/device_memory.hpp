// Device memory that is asked for before it is taken: a case that is too large is refused, not an error of CUDA's.
#pragma once

#include "kernels/cuda/runtime.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus {

// Throws std::invalid_argument where the current device has less memory left; `what` names it.
template <class T>
DeviceBuffer<T> room_for(std::int64_t count, const char* what) {
  std::size_t left = 0, total = 0;
  DANAUS_CUDA(cudaMemGetInfo(&left, &total));
  const std::size_t bytes = sizeof(T) * static_cast<std::size_t>(count);
  if (bytes > left) fail("bench: ", what, " needs ", bytes, " bytes of device memory, ", left, " are left");
  return DeviceBuffer<T>(count);
}

}  // namespace danaus
