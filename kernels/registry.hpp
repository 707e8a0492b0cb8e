// How the parts of the table find together: one function for each size and back end, each in a file that CMake writes.
#pragma once

#include <vector>

#include "kernels/variants.hpp"

namespace danaus {

template <int size>
std::vector<Variant> variants_of();  // without their CUDA kernels

template <int size>
std::vector<CudaKernels> cuda_kernels_of();  // in the same order

}  // namespace danaus
