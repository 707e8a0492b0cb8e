// Of items that are computed once more: what their kernels are compiled for and given.
#pragma once

#include <cstdint>

#include "kernels/memory/arguments.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus::rescaled {

struct Key {
  Dtype dtype;
  Fold fold;               // pair or right angle
  bool gradients = false;  // dk, and of rows those that the kernel of its sums makes
  bool operator==(const Key&) const = default;
};

struct Tuning {
  int blocks = 0;  // on an SM at once
  bool operator==(const Tuning&) const = default;
};

struct Layout {
  Key key;
  Tuning tuning;

  constexpr Layout(const Key& k, const Tuning& t) : key(k), tuning(t) {}

  Dtype dtype = key.dtype;
  bool pair = key.fold == Fold::pair;
  bool gated = true;
  int item_rows = pair ? 2 : 1;
  int threads = 256;
  int shared_bytes = 8 * threads / 32;  // sums of each warp
};

// N of a transform, outermost radix first: 12 are enough for 2^26 by 16 and rests.
struct Stages {
  int size, count, radices[12];
};

// What a launch does. Where few blocks have room to compute, looking is a launch of its own.
enum class Task { look_and_compute, look, compute };

// Rows [B, H, L] of a convolution, each array with its strides, or what is correlated. `energies` [H, items, units, 2]
// are of u times the pregate, by item, unit and row of an item; NaN where the results of a unit are not finite.
struct RowArrays {
  const void *u, *pregate, *postgate;
  void* y;
  RowStrides u_strides, pregate_strides, postgate_strides, y_strides;
  int batch, length, result_length;
  Transfer transfer;
  const float* energies;
  bool conjugate;  // of the spectrum
};

struct Arguments {
  RowArrays rows[3];  // of convolutions
  int convolutions;
  const std::uint32_t* spectrum;  // [H, live, N2], as the fast kernels read it
  const float* spectrum_factors;  // [H, live]
  const float* spectrum_ranges;   // [H, parts, 2], of f16 samples
  int spectrum_parts;
  float least_share;           // of the least energy there
  const std::uint32_t* slots;  // [N1] where a row k_hi of the spectrum stands, or ~0; [N2] where its numbers stand
  int outer_rows, live;        // N1, and how many of these rows there are
  float scale;                 // of a spectrum of ones, transformed there and back
  Stages stages;               // of N
  int channels, items_of_channel, units;
  float* points;  // of each block `block_points` complex numbers
  long long block_points;
  Task task;
  std::uint32_t* found;  // [looking]: whether a block of the launch that looks found anything
  int looking;           // how many of these blocks there are

  // Of kernels of gradients: u, dy, and dk [H, K] of them, through transforms of at least 2 L points.
  RowArrays correlated[2];
  float* dk;
  long long filter_length;
  bool taps_aligned;  // rows of dk begin at 16 bytes and are whole chunks
  bool circular;
  float least_energy;  // of an item of f16 samples
  Stages correlation;
};

}  // namespace danaus::rescaled
