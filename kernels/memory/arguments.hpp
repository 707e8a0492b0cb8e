// What a fused convolution's kernel is given, the same for every family and on both machines.
#pragma once

#include <cstdint>

#include "kernels/device/tensor_map.hpp"
#include "kernels/memory/division.hpp"

namespace danaus {

// How rows travel between global and shared memory.
enum class Transfer {
  tensor,   // bulk tensor copies: sm_90, L a multiple of the tensor map's grain, 16-byte aligned
  vector,   // 16 bytes a thread: L a multiple of 8, 16-byte aligned
  element,  // sample by sample: anything
};

// Which transfers a kernel is compiled for: on the GPU one of the two, so that neither carries code of the other.
enum class Path { tensor, threads, any };

struct ConvolutionArguments {
  // Set for Transfer::tensor only.
  TensorMap u_map, y_map, pregate_map, postgate_map;
  const void* u;                  // [B, H, L]
  const void* pregate;            // [B, H, L] or null
  const void* postgate;           // [B, H, L] or null
  void* y;                        // [B, H, L]
  const std::uint32_t* spectrum;  // [H, N] complex pairs in the kernel's order
  const std::uint32_t* tables;    // constants of the kernel
  int batch, channels, length;
  Division division;  // of the items among blocks or warps
  Transfer transfer;
  bool wrap;  // right angle only: circular output, y[n] = lo[n] + hi[n + L - N] or lo[n + L]
};

}  // namespace danaus
