#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>

#include "experiments/timing/device_kernels.hpp"
#include "experiments/timing/noise.hpp"
#include "kernels/cuda/runtime.hpp"

namespace danaus {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 4096;

int blocks_for(std::int64_t count) {
  return static_cast<int>(std::min(kMostBlocks, (count + kThreads - 1) / kThreads));
}

__device__ std::int64_t first_index() { return std::int64_t{blockIdx.x} * kThreads + threadIdx.x; }
__device__ std::int64_t index_step() { return std::int64_t{gridDim.x} * kThreads; }

__device__ unsigned long long nanoseconds() {
  unsigned long long time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

template <class T>
__global__ void fill_kernel(T* out, std::int64_t count, std::uint64_t key, float scale) {
  for (std::int64_t i = first_index(); i < count; i += index_step()) out[i] = T(scale * noise(key, i));
}

// Neighbouring taps of a channel for each thread.
constexpr int kTapsOfThread = 32;

__global__ void taps_kernel(const float* a, const float* b, const float* c, float* k, std::int64_t channels, int states,
                            std::int64_t length) {
  const std::int64_t runs = (length + kTapsOfThread - 1) / kTapsOfThread;
  for (std::int64_t i = first_index(); i < channels * runs; i += index_step()) {
    const std::int64_t channel = i / runs, first = i % runs * kTapsOfThread;
    double sums[kTapsOfThread] = {};
    for (std::int64_t s = channel * states; s < (channel + 1) * states; ++s) {
      const double re = a[2 * s], im = a[2 * s + 1];
      const double size = exp(double(first) * log(hypot(re, im))), angle = double(first) * atan2(im, re);
      const double power_re = first > 0 ? size * cos(angle) : 1, power_im = first > 0 ? size * sin(angle) : 0;
      const double by_re = double(b[2 * s]) * c[2 * s] - double(b[2 * s + 1]) * c[2 * s + 1];
      const double by_im = double(b[2 * s]) * c[2 * s + 1] + double(b[2 * s + 1]) * c[2 * s];
      double x = by_re * power_re - by_im * power_im, y = by_re * power_im + by_im * power_re;
      for (double& sum : sums) {
        sum += x;
        const double next = x * re - y * im;
        y = x * im + y * re, x = next;
      }
    }
    for (int n = 0; n < kTapsOfThread && first + n < length; ++n) k[channel * length + first + n] = float(sums[n]);
  }
}

// All bits of the exponent set.
template <class Word>
__global__ void count_kernel(const Word* values, std::int64_t count, Word exponent, unsigned long long* found) {
  unsigned long long here = 0;
  for (std::int64_t i = first_index(); i < count; i += index_step()) here += (values[i] & exponent) == exponent;
  if (here > 0) atomicAdd(found, here);
}

// Maxima of numbers that are not negative are maxima of their bits.
__device__ void merge_atomically(Difference* all, const Difference& here) {
  atomicAdd(&all->error_square, here.error_square);
  atomicAdd(&all->expected_square, here.expected_square);
  atomicMax(reinterpret_cast<int*>(&all->largest_error), __float_as_int(here.largest_error));
  atomicMax(reinterpret_cast<int*>(&all->largest_expected), __float_as_int(here.largest_expected));
  atomicAdd(&all->nonfinite, here.nonfinite);
}

template <class T>
__global__ void difference_kernel(const T* actual, const T* expected, std::int64_t count, Difference* all) {
  __shared__ Difference block[kThreads];
  Difference here{};
  for (std::int64_t i = first_index(); i < count; i += index_step()) here.add(float(actual[i]), float(expected[i]));
  block[threadIdx.x] = here;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) block[threadIdx.x].merge(block[threadIdx.x + half]);
  }
  if (threadIdx.x == 0) merge_atomically(all, block[0]);
}

__global__ void checksum_kernel(const std::uint16_t* values, std::int64_t count, unsigned long long* sum) {
  unsigned long long here = 0;
  for (std::int64_t i = first_index(); i < count; i += index_step()) here += checksum_of(values[i], i);
  atomicAdd(sum, here);
}

__global__ void hold_kernel(const volatile int* released) {
  constexpr unsigned long long kLongest = 1000000000;
  const unsigned long long start = nanoseconds();
  while (*released == 0 && nanoseconds() - start < kLongest) __nanosleep(100);
}

__global__ void stamp_kernel(ClockStamp* stamps) {
  unsigned multiprocessor;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  stamps[multiprocessor] = {clock64(), nanoseconds()};
}

// Calls body.operator()<T>() with the CUDA type of f16, bf16 or f32.
template <class Body>
void with_type(Dtype dtype, Body body) {
  switch (dtype) {
    case Dtype::f16: return body.template operator()<__half>();
    case Dtype::bf16: return body.template operator()<__nv_bfloat16>();
    case Dtype::f32: return body.template operator()<float>();
    case Dtype::f64: break;
  }
  fail("bench: arrays of ", name(dtype), ", must be of f16, bf16 or f32");
}

}  // namespace

void fill_noise(Dtype dtype, void* out, std::int64_t count, std::uint64_t key, float scale, Stream stream) {
  with_type(dtype, [&]<class T>() {
    fill_kernel<<<blocks_for(count), kThreads, 0, stream>>>(static_cast<T*>(out), count, key, scale);
  });
  DANAUS_CUDA(cudaGetLastError());
}

void count_nonfinite(Dtype dtype, const void* values, std::int64_t count, unsigned long long* found, Stream stream) {
  const auto launch = [&]<class Word>(Word exponent) {
    count_kernel<<<blocks_for(count), kThreads, 0, stream>>>(static_cast<const Word*>(values), count, exponent, found);
  };
  if (dtype == Dtype::f32)
    launch(0x7f800000u);
  else
    launch(std::uint16_t(dtype == Dtype::f16 ? 0x7c00 : 0x7f80));
  DANAUS_CUDA(cudaGetLastError());
}

void add_difference(Dtype dtype, const void* actual, const void* expected, std::int64_t count, Difference* difference,
                    Stream stream) {
  with_type(dtype, [&]<class T>() {
    difference_kernel<<<blocks_for(count), kThreads, 0, stream>>>(static_cast<const T*>(actual),
                                                                  static_cast<const T*>(expected), count, difference);
  });
  DANAUS_CUDA(cudaGetLastError());
}

void add_checksum(const void* values, std::int64_t bytes, unsigned long long* sum, Stream stream) {
  const std::int64_t count = bytes / 2;
  checksum_kernel<<<blocks_for(count), kThreads, 0, stream>>>(static_cast<const std::uint16_t*>(values), count, sum);
  DANAUS_CUDA(cudaGetLastError());
}

void fill_taps(const float* a, const float* b, const float* c, float* k, std::int64_t channels, int states,
               std::int64_t length, Stream stream) {
  const std::int64_t runs = channels * ((length + kTapsOfThread - 1) / kTapsOfThread);
  taps_kernel<<<blocks_for(runs), kThreads, 0, stream>>>(a, b, c, k, channels, states, length);
  DANAUS_CUDA(cudaGetLastError());
}

void hold(const volatile int* released, Stream stream) {
  hold_kernel<<<1, 1, 0, stream>>>(released);
  DANAUS_CUDA(cudaGetLastError());
}

void stamp_clocks(ClockStamp* stamps, int multiprocessors, Stream stream) {
  stamp_kernel<<<multiprocessors, 1, 0, stream>>>(stamps);
  DANAUS_CUDA(cudaGetLastError());
}

}  // namespace danaus
