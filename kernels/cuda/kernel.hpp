// What every kernel has in common on a GPU: for which devices there is code of it.
#pragma once

#include "kernels/device/operations.hpp"
#include "kernels/families/instances.hpp"
#include "kernels/memory/arguments.hpp"

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

template <Path path, unsigned classes>
inline constexpr bool kRunsHere = (classes & kClassesOfArchitecture) != 0 && (path == Path::threads || DANAUS_HOPPER);

// A kernel on a device that it is not compiled for: an error of the launch, and not an output that nothing wrote.
DANAUS_DEVICE void refuse() { asm volatile("trap;"); }

// Where no GPU is, nvcc only shows that kernels compile: a sample is enough (DANAUS_CUDA_SAMPLE), of bf16 the smaller
// ones of it.
template <class Key>
constexpr bool has_cuda_code(const Key& key) {
  if (!DANAUS_CUDA_SAMPLE) return true;
  if constexpr (requires { key.is_sample(); }) return key.is_sample();
  if constexpr (requires { key.size(); }) {
    if (!is_sampled(key.size())) return false;
    if constexpr (requires { key.dtype; }) return key.dtype == Dtype::f16 || key.size() <= 1024;
  }
  return true;
}

// A kernel that moves no rows has Path::threads alone; a key may know better.
template <class Key>
constexpr bool has_path(const Key& key, Path path) {
  if constexpr (requires { key.has_path(path); })
    return key.has_path(path);
  else if constexpr (requires { key.filtered; })
    return !encloses(path) || (!key.filtered && takes_any_alignment(key.size(), key.fold));
  else if constexpr (requires {
                       key.size();
                       key.fold;
                     })
    return !encloses(path) || takes_any_alignment(key.size(), key.fold);
  else
    return path == Path::threads;
}

}  // namespace danaus::inline cuda_backend
