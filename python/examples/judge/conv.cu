// The same convolution in CUDA, one thread for an output:
//
//   nvcc -O2 -shared -Xcompiler -fPIC -I$(python -m danaus.judging --include) conv.cu -o conv.so
//   python -m danaus.judging --library conv.so fftconv_f32_causal --arrays torch --device cuda
#include <cstring>

#include "candidate.h"

namespace {

const danaus_candidate_array* named(const danaus_candidate_array* arrays, size_t count, const char* name) {
  for (size_t i = 0; i < count; ++i)
    if (std::strcmp(arrays[i].name, name) == 0) return &arrays[i];
  return nullptr;
}

__global__ void convolve(const float* u, const float* k, float* y, int64_t outputs, int64_t channels, int64_t length,
                         int64_t taps) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= outputs) return;
  const int64_t n = i % length;
  const float* const filter = k + i / length % channels * taps;
  float sum = 0;
  for (int64_t tap = 0; tap < taps && tap <= n; ++tap) sum += filter[tap] * u[i - tap];
  y[i] = sum;
}

}  // namespace

extern "C" int danaus_candidate(const char* token, const danaus_candidate_array* arrays, size_t count, void* stream) {
  const bool is_taken = std::strncmp(token, "fftconv_f32_causal_", 19) == 0 && !std::strstr(token, "gate");
  if (!is_taken) return DANAUS_CANDIDATE_REFUSED;
  const danaus_candidate_array *u = named(arrays, count, "u"), *k = named(arrays, count, "k");
  const int64_t outputs = u->extents[0] * u->extents[1] * u->extents[2];
  convolve<<<(outputs + 255) / 256, 256, 0, static_cast<cudaStream_t>(stream)>>>(
      static_cast<const float*>(u->data), static_cast<const float*>(k->data),
      static_cast<float*>(named(arrays, count, "y")->data), outputs, u->extents[1], u->extents[2], k->extents[1]);
  return cudaGetLastError() == cudaSuccess ? DANAUS_CANDIDATE_DONE : DANAUS_CANDIDATE_FAILED;
}
