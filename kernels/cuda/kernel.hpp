// A variant as a CUDA kernel, for the architectures whose devices it is tuned for, empty for the others.
#pragma once

#include "kernels/instances.hpp"

namespace danaus::inline cuda_backend {

// Which of kDeviceClasses run the code of the architecture that is being compiled; sm_80's serves the RTX devices of
// its generation too.
#if !defined(__CUDA_ARCH__)
inline constexpr unsigned kClassesOfArchitecture = 0;
#elif __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 870
inline constexpr unsigned kClassesOfArchitecture = 0b110;
#elif __CUDA_ARCH__ < 900 || __CUDA_ARCH__ >= 1200
inline constexpr unsigned kClassesOfArchitecture = 0b100;
#else
inline constexpr unsigned kClassesOfArchitecture = 0b001;
#endif

template <class P, Path path, int blocks_per_sm, unsigned classes>
__global__ void __launch_bounds__(P::kThreads, blocks_per_sm)
    fused_kernel(const __grid_constant__ FusedArguments arguments) {
  if constexpr ((classes & kClassesOfArchitecture) != 0 && (path != Path::tensor || DANAUS_HOPPER))
    fused<P, path>(arguments);
}

}  // namespace danaus::inline cuda_backend
