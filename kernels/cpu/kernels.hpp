// The kernels of this build as functions of the CPU.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/families/kernel_id.hpp"

namespace danaus {

// Runs the kernel in the calling thread of the executor; `arguments` are its family's.
using HostKernel = void (*)(const void* arguments);

// Null where this build has it not.
HostKernel host_kernel(const KernelId& kernel);

// All that this build has, family by family.
std::vector<KernelId> host_kernels();

// A part of a family's, in a file of its own so that they compile side by side.
struct HostKernelEntry {
  KernelId id;
  HostKernel run;
};

}  // namespace danaus
