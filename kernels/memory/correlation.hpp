// What the kernels of a filter's gradient are given: sums over the batch of conj(U) dY, for all frequencies.
#pragma once

#include "kernels/memory/arguments.hpp"

namespace danaus {

// Blocks, or warps that work by themselves, take the items of part p of a channel's parts each: which ones, and in
// which order they are summed, depends on the numbers here alone.
struct CorrelationArguments {
  // Of u, pregate, postgate, tables, batch, channels, length, transfer, and items_of_channel of the division; for
  // Transfer::tensor u_map, and y_map of dy. Of kernels that make the gradients of rows, too, the filter's spectrum and
  // its factors, and y, which is that of u.
  ConvolutionArguments rows;
  const void* dy;   // [B, H, L]
  void* dpregate;   // [B, H, L], where there are rows' gradients and the gate,
  void* dpostgate;  // and the same
  RowStrides dy_strides, dpregate_strides, dpostgate_strides;
  float* sums;  // [P, H, N] complex fp32, where sum_index() says
  int parts;    // P
  // [2, H, items, units, 2] of u times its gate and of dy, for what is computed once more (families/rescaled); or null.
  float* energies;

  DANAUS_HOST_AND_DEVICE float* energies_of(int array, int channel, int item, int units, int unit) const {
    const long long number = (1ll * array * rows.channels + channel) * rows.division.items_of_channel + item;
    return energies + 2 * (units * number + unit);
  }

  // Of part `part`, among the channel's.
  DANAUS_HOST_AND_DEVICE ItemRange items_of(int part) const {
    const long long items = rows.division.items_of_channel;
    const int first = static_cast<int>(items * part / parts);
    return {first, static_cast<int>(items * (part + 1) / parts) - first};
  }
};

// Where the complex number of a slot of the spectrum (product/slots.hpp) is among the sums: of each vector's halves j
// 16 bytes a lane.
DANAUS_HOST_AND_DEVICE constexpr int sum_index(int slot) {
  return slot / 128 * 128 + slot / 2 % 2 * 64 + slot / 4 % 32 * 2 + slot % 2;
}

}  // namespace danaus
