// The kernels of this build for cudaLaunchKernel.
#pragma once

#include <array>
#include <vector>

#include "kernels/families/kernel_id.hpp"
#include "kernels/memory/arguments.hpp"

namespace danaus {

// One for each path; null where this build has it not.
struct CudaKernels {
  std::array<const void*, kPaths> list{};
  const void* of(Path path) const { return list.at(static_cast<std::size_t>(path)); }
};

CudaKernels cuda_kernels(const KernelId& kernel);

// A part of a family's, in a file of its own so that they compile side by side.
struct CudaKernelEntry {
  KernelId id;
  CudaKernels kernels;
};

}  // namespace danaus
