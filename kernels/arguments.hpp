// What a fused kernel is given, the same for all of them.
#pragma once

#include "kernels/device/operations.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus::inline DANAUS_BACKEND {

// How rows travel between global and shared memory.
enum class Transfer {
  tensor,   // bulk tensor copies: sm_90, L a multiple of the tensor map's grain, 16-byte aligned
  vector,   // 16 bytes a thread: L a multiple of 8, 16-byte aligned
  element,  // sample by sample: anything
};

// Which transfers a kernel is compiled for: on the GPU one of the two, so that neither carries code of the other.
enum class Path { tensor, threads, any };

struct FusedArguments {
  // Set for Transfer::tensor only.
  TensorMap u_map, y_map, pregate_map, postgate_map;
  const void* u;         // [B, H, L]
  const void* pregate;   // [B, H, L] or null
  const void* postgate;  // [B, H, L] or null
  void* y;               // [B, H, L]
  const u32* spectrum;   // [H, N] complex pairs in the kernel's order
  const u32* tables;     // constants of the kernel
  int batch, channels, length;
  int whole_channels;  // exchange: blocks that take a channel each
  Transfer transfer;
  bool wrap;  // right angle only: circular output, y[n] = lo[n] + hi[n + L - N] or lo[n + L]
};

// Four registers of a spectrum, lane by lane: read once an item, by every item of the channel.
template <Cache rows>
DANAUS_DEVICE Words<4> load_spectrum(const u32* spectrum, int vector) {
  const u32* at = spectrum + 4 * (32 * vector + device::lane_index());
  if constexpr (rows == Cache::stream)
    return device::load_global_once<Cache::keep>(at);
  else
    return device::load_global<16>(at);
}

}  // namespace danaus::inline DANAUS_BACKEND
