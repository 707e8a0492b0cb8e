// What the cuFFT baselines' small kernels share: vectors of samples, the shape of a launch over rows, the filter
// brought to N samples and its gradient back, sums over the batch.
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

// dk [H, K] of rows [H, N], whose real parts are `step` floats from one another: circular ones repeat every L taps,
// causal ones are 0 from L on.
inline __global__ void write_taps(const float* rows, float* dk, std::int64_t filter_length, std::int64_t length,
                                  bool circular, std::int64_t row_floats, int step) {
  const float* row = rows + blockIdx.x * row_floats;
  for (std::int64_t m = first_item(); m < filter_length; m += item_step())
    dk[blockIdx.x * filter_length + m] = circular ? row[m % length * step] : m < length ? row[m * step] : 0;
}

inline __device__ float2 to_float2(float2 value) { return value; }

// sums [H, points] = the sum over b of conj(a [b, H, points]) b [b, H, points], times `scale`, one b after the other.
template <class Complex>
__global__ void sum_over_batch(const Complex* of_u, const Complex* of_dy, float2* sums, std::int64_t batch,
                               std::int64_t points, float scale) {
  for (std::int64_t i = first_item(); i < points; i += item_step()) {
    float re = 0, im = 0;
    for (std::int64_t b = 0; b < batch; ++b) {
      const std::int64_t at = (b * gridDim.x + blockIdx.x) * points + i;
      const float2 u = to_float2(of_u[at]), dy = to_float2(of_dy[at]);
      re += u.x * dy.x + u.y * dy.y, im += u.x * dy.y - u.y * dy.x;
    }
    sums[blockIdx.x * points + i] = {scale * re, scale * im};
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

// Calls body.operator()<T, wide>() with as many samples at once as rows of L and of N samples allow.
template <class Body>
void with_width(const Convolution& p, std::int64_t n, Body body) {
  with_half_type(p.dtype, [&]<class T>() {
    if (p.length % kWide == 0 && n % kWide == 0)
      body.template operator()<T, kWide>();
    else
      body.template operator()<T, 1>();
  });
}

}  // namespace danaus
