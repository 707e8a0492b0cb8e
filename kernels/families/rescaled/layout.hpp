// Of items of long convolutions that are computed once more: what their kernel is compiled for and given.
#pragma once

#include <cstdint>

#include "kernels/memory/arguments.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus::rescaled {

struct Key {
  Dtype dtype;
  Fold fold;  // pair or right angle
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

// Enough for N of 2^24 by 16 and rests.
inline constexpr int kMostStages = 12;

struct Arguments {
  // Of all rows: what the fast kernels were given, and the ranges of channels.
  ConvolutionArguments rows;
  const float* energies;       // [H, items, N2 / 8, 2]: of each unit and row; NaN where results are not finite
  float* points;               // [blocks, N], complex
  const std::uint32_t* slots;  // [N1] where a row k_hi of the spectrum stands, or ~0; [N2] where its numbers stand
  int size, outer_rows, live;  // N, N1 and how many of these rows there are
  int items_of_channel, items;
  int stages, radices[kMostStages];  // N, outermost first
  float scale;                       // of a spectrum of ones, transformed there and back
};

}  // namespace danaus::rescaled
