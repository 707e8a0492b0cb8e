// Of what filters rows before a long convolution: what the kernel is compiled for and given.
#pragma once

#include "kernels/memory/arguments.hpp"
#include "reference/basics.hpp"

namespace danaus::filtered_rows {

struct Key {
  Dtype dtype;
  bool operator==(const Key&) const = default;
};

struct Tuning {
  int threads = 0;
  int blocks = 0;  // on an SM at once
  int chunks = 0;  // of 8 samples that a thread takes of a row, one after the other
  bool operator==(const Tuning&) const = default;
};

struct Layout {
  Key key;
  Tuning tuning;
  int threads;
  constexpr Layout(const Key& k, const Tuning& t) : key(k), tuning(t), threads(t.threads) {}
  constexpr int part_chunks() const { return tuning.threads * tuning.chunks; }  // that a block takes of a row at once
};

struct Arguments {
  const void* u;                                            // [B, H, L], each with its strides
  const void* pregate;                                      // [B, H, L] or null
  const void* postgate;                                     // [B, H, L] or null
  RowStrides u_strides, pregate_strides, postgate_strides;  //
  void* x;                                                  // [B, H, L]: w' * u'
  void* v;                                                  // [B, H, L]: v', where there is a postgate
  const float* taps;                                        // [P, H, T]
  const float* bias;                                        // [P, H] or null
  int tap_count, batch, channels, length;
  Transfer transfer;  // vector or element
};

}  // namespace danaus::filtered_rows
