#include "kernels/device.hpp"

#include "kernels/cuda/runtime.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus {

int Device::cuda_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();  // no driver, or one that is too old for this runtime
  return 0;
}

Device Device::cuda(int ordinal) {
  const int count = cuda_count();
  if (ordinal < 0 || ordinal >= count) fail("device: CUDA device ", ordinal, " is asked for; there are ", count);
  cudaDeviceProp properties;
  DANAUS_CUDA(cudaGetDeviceProperties(&properties, ordinal));
  Device device;
  device.kind = Kind::cuda;
  device.name = properties.name;
  device.ordinal = ordinal;
  device.sm = 10 * properties.major + properties.minor;
  device.block_bytes = static_cast<int>(properties.sharedMemPerBlockOptin);
  device.multiprocessors = properties.multiProcessorCount;
  return device;
}

}  // namespace danaus
