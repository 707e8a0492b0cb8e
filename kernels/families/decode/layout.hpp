// Of decoding by a convolution, sample by sample: what its small kernels are compiled for and given.
#pragma once

#include "reference/convolution/convolution.hpp"

namespace danaus::decode {

enum class Work {
  next,  // y of the next position
  dot,   // the same without tiles, of all samples before
  move,  // pieces of rows into others, with zeros after them
  add,   // results of a tile to the sums of the positions that it is for
};

struct Key {
  Dtype dtype;
  Work work;
  constexpr bool is_sample() const { return dtype == Dtype::f16; }
  bool operator==(const Key&) const = default;
};

struct Tuning {
  int warps = 0;
  int blocks = 0;  // on an SM at once: what registers are limited for
  bool operator==(const Tuning&) const = default;
};

// The samples of the newest tile, at most so many, are multiplied one by one.
inline constexpr int kWindow = 64;

struct Layout {
  Key key;
  Tuning tuning;
  constexpr Layout(const Key& k, const Tuning& t) : key(k), tuning(t) {}
  int threads = 32 * tuning.warps;
  int shared_bytes = key.work == Work::next ? 4 * threads : 0;  // a sum of each thread
};

struct Arguments {
  // next, dot: u and y [rows]; move: pieces, `from` [rows, from_stride] and `to` [rows, to_stride]; add: `from`, null
  // for zeros
  const void* from;
  void* to;
  void* history;      // [rows, L]: u of every position, next and dot
  void* window;       // [kWindow, rows]: u since the last tile ended, next
  const float* taps;  // [kWindow, H], next; [H, K], dot
  float* sums;        // [rows, L]: of every position to come, what tiles have of it
  long long from_stride, to_stride, length, position;
  long long count, zeros;  // samples of a row: moved, or added at `position`; zeros after those that are moved. Dot: K
  int rows, channels;      // B H, H
  int newest;              // place of this sample in the window, next
  bool first;              // add: the sums are nothing before
};

}  // namespace danaus::decode
