// Of the filter's transform: what its kernel is compiled for and given.
#pragma once

#include <cstdint>

#include "kernels/memory/division.hpp"
#include "reference/basics.hpp"

namespace danaus::spectrum {

struct Key {
  Dtype dtype;  // of the spectrum
  bool operator==(const Key&) const = default;
};

struct Tuning {
  int threads = 256;
  int blocks = 1;  // on an SM at once, at least
  bool operator==(const Tuning&) const = default;
};

inline constexpr int kMostPoints = 4096;  // of a part, in shared memory
inline constexpr int kPointBytes = 8;
inline constexpr int kEntryWords = 4;  // of the table

// The radix of the stage that takes apart transforms of `span` points.
DANAUS_HOST_AND_DEVICE constexpr int stage_radix(int span) { return span % 3 == 0 ? 3 : span % 4 == 0 ? 4 : 2; }

struct Arguments {
  const float* k;              // [H, K]
  const std::uint32_t* table;  // make_table()
  std::uint32_t* spectrum;     // [H, N] complex numbers: pairs of real parts, then of imaginary parts
  int size;                    // N
  int parts;                   // R
  int filter_length, period;   // K, L
  bool wraps;                  // circular
  bool right_angle;
};

}  // namespace danaus::spectrum
