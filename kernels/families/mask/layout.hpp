// Of what a mask leaves of long filters' spectra: what the kernel is compiled for and given.
#pragma once

#include <cstdint>

#include "reference/convolution/convolution.hpp"

namespace danaus::mask {

struct Key {
  Dtype dtype;  // of the spectrum's numbers, re and im each
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
};

struct Arguments {
  const std::uint32_t* spectrum;  // [C, N1, N2], in the order of the fused kernel of N2 points (product/slots.hpp)
  const float* factors;           // [C, N1] or null
  std::uint32_t* left;            // [C, R, N2]: of the live rows, times the weights
  float* left_factors;            // [C, R] where there are factors
  const std::uint32_t* rows;      // [R]: which they are
  const std::uint32_t* weights;   // [R, N2], of the spectrum's type and in its order: 0, 1/2 or 1
  int channels;                   // C
  int rows_of_channel, live;      // N1, R
  int columns;                    // N2
};

}  // namespace danaus::mask
