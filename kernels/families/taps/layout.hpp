// Of a filter's gradient out of its sums: what the kernel is compiled for and given.
#pragma once

#include "kernels/families/spectrum/tunings.hpp"

namespace danaus::taps {

// The stages are those of the filter's transform, and so are their tunings.
using spectrum::Key;
using spectrum::kLines;
using spectrum::Layout;
using spectrum::Tuning;

struct Arguments {
  const float* sums;             // [P, rows, R M], of a gradient's kernel; of the outer pass null
  float* rows;                   // [H, N1, N2] complex fp32 of a long convolution, between its two passes, or null
  float* dk;                     // [H, K]
  const std::uint32_t* entries;  // [R, M]: of frequency k + j M, where the sum is, and k in the upper half
  const std::uint32_t* roots;    // [M / 2] exp(-2 pi i j / M), complex fp32
  long long filter_length;       // K
  int channels, period;          // H, L
  int size, outer_rows;          // N; N1, or 1
  int parts;                     // P
  int phases;                    // R, 1 or 2: of a row's samples one transform gives each R-th
  float scale;
  bool circular, right_angle;
  bool
      wraps;  // a circular case by the right angle once more, where several transforms give a tap: adds what goes round
};

}  // namespace danaus::taps
