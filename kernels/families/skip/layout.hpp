// Of what adds a skip to filters: what the kernel is compiled for and given.
#pragma once

#include "reference/basics.hpp"

namespace danaus::skip {

struct Key {
  Dtype filter;  // of k
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
  const void* k;      // [H, K]
  const float* skip;  // [H]
  float* sum;         // [H, K]
  int channels, taps;
};

}  // namespace danaus::skip
