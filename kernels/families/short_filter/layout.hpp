// Of what prepares the filters of short convolutions: what the kernel is compiled for and given.
#pragma once

#include <cstdint>

#include "reference/basics.hpp"

namespace danaus::short_filter {

struct Key {
  Dtype dtype, filter;  // of the samples; of k and the bias
  constexpr bool is_sample() const { return dtype == Dtype::bf16 && filter == Dtype::f32; }
  bool operator==(const Key&) const = default;
};

struct Tuning {
  int threads = 0;
  int blocks = 0;  // on an SM at once
  bool operator==(const Tuning&) const = default;
};

struct Layout {
  Key key;
  Tuning tuning;
  int threads;
  constexpr Layout(const Key& k, const Tuning& t) : key(k), tuning(t), threads(t.threads) {}
};

struct Arguments {
  const void* k;     // [H, K]
  const void* bias;  // [H] or null
  // Of `pairs` > 0 [H, 2, pairs] words as toeplitz/layout.hpp has them, else [taps, H rounded up to 8] fp32.
  std::uint32_t* filters;
  float* biases;  // [H]
  int channels, count;
  int delay;     // zeros that come before the first tap
  bool flipped;  // the last tap first
  int pairs, taps;
};

}  // namespace danaus::short_filter
