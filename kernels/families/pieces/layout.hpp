// Of pieces of rows: what their kernel is compiled for and given.
#pragma once

#include <cstdint>

#include "kernels/memory/arguments.hpp"
#include "kernels/memory/division.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus::pieces {

enum class Job {
  cut,   // rows [B, H, L] into pieces, of u and of gates
  join,  // what was computed of them into rows
  turn,  // filters [H, K] into rows of N taps, tap m at (m - lead) mod N
};

struct Key {
  Dtype dtype;  // of samples, or of as many bytes as taps
  Job job;
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

  int threads = 256;
  int shared_bytes = 0;
  int bytes = key.dtype == Dtype::f32 ? 4 : 2;  // of an element
  int chunk = 16 / bytes;                       // elements
};

// Piece number p of a row gives y[begin + p step] and what follows up to `step` samples later, or to `end`; it has N
// samples of u, the first `lead` before the first that it gives.
struct Arguments {
  const void* rows;  // [B, H, L] of u; [H, K] of taps
  void* result;      // [B, H, L]: y
  void* pieces;      // [R, C, N]: rows `first_row` and after of B times `of_row`, channels `first_channel` and after
  const void *pregate, *postgate;  // [B, H, L] or null
  RowStrides rows_strides, result_strides, pregate_strides, postgate_strides;
  void *pregate_pieces, *postgate_pieces;  // [R, C, N]: the postgate's begin with the first sample that a piece gives
  long long begin, end;                    // of y
  int first_row, rows_now;                 // R
  int first_channel, channels_now;         // C
  int of_row;                              // pieces of a row
  int channels, length;                    // H; L, or K of taps
  int size, step, lead;                    // N
  bool circular;
  bool aligned;  // rows begin at 16 bytes and are whole chunks
};

}  // namespace danaus::pieces
