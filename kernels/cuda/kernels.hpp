// The kernels of this build for cudaLaunchKernel.
#pragma once

#include <vector>

#include "kernels/plan/program.hpp"

namespace danaus {

// One for each path; null where this build has it not.
struct CudaKernels {
  const void* tensor = nullptr;
  const void* enclosing = nullptr;
  const void* threads = nullptr;
  const void* of(Path path) const {
    return path == Path::tensor ? tensor : path == Path::enclosing ? enclosing : threads;
  }
};

CudaKernels cuda_kernels(const KernelId& kernel);

// A part of a family's, in a file of its own so that they compile side by side.
struct CudaKernelEntry {
  KernelId id;
  CudaKernels kernels;
};

}  // namespace danaus
