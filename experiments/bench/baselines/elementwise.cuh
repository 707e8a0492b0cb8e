// What the cuFFT baselines' small kernels share: vectors of samples, the shape of a launch over rows, and the filter
// brought to N samples.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/runtime.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus {

template <class T, int count>
struct alignas(sizeof(T) * count) Vector {
  T at[count];
};

// Samples that a thread takes at once, where rows are whole multiples of them.
inline constexpr int kWide = 4;

inline __device__ float to_float(__half value) { return __half2float(value); }
inline __device__ float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }

// A row for each blockIdx.x, and as many blocks along a row (blockIdx.y) as it takes.
struct RowLaunch {
  dim3 grid;
  unsigned threads;
  RowLaunch(std::int64_t rows, std::int64_t items) {
    constexpr std::int64_t kMostThreads = 256, kMostBlocksAlong = 32768;
    threads = static_cast<unsigned>(std::min(kMostThreads, (items + 31) / 32 * 32));
    const std::int64_t along = (items + threads - 1) / threads;
    grid = dim3(static_cast<unsigned>(rows), static_cast<unsigned>(std::min(along, kMostBlocksAlong)));
  }
};

inline __device__ std::int64_t first_item() { return std::int64_t{blockIdx.y} * blockDim.x + threadIdx.x; }
inline __device__ std::int64_t item_step() { return std::int64_t{gridDim.y} * blockDim.x; }

// out [H, N]: each channel's filter [K], cut to `taken` samples, added up modulo N and padded with zeros.
inline __global__ void pad_filter(const float* k, float* out, std::int64_t filter_length, std::int64_t taken,
                                  std::int64_t n) {
  const float* row = k + blockIdx.x * filter_length;
  for (std::int64_t i = first_item(); i < n; i += item_step()) {
    float sum = 0;
    for (std::int64_t m = i; m < taken; m += n) sum += row[m];
    out[blockIdx.x * n + i] = sum;
  }
}

// Of a case's filter, the samples that can matter.
inline std::int64_t taken_samples(const Convolution& p) {
  return p.mode == Mode::causal ? std::min(p.filter_length, p.length) : p.filter_length;
}

// Calls body.operator()<T>() with the CUDA type of f16 or bf16.
template <class Body>
void with_half_type(Dtype dtype, Body body) {
  if (dtype == Dtype::f16)
    body.template operator()<__half>();
  else
    body.template operator()<__nv_bfloat16>();
}

}  // namespace danaus
