// fp32 and double numbers as the words that kernels move.
#pragma once

#include <cstring>

#include "kernels/device/operations.hpp"

namespace danaus::inline DANAUS_BACKEND {

DANAUS_DEVICE u32 word_of(float value) {
  u32 word;
  memcpy(&word, &value, 4);
  return word;
}
DANAUS_DEVICE float float_of(u32 word) {
  float value;
  memcpy(&value, &word, 4);
  return value;
}

struct DoubleWords {
  u32 low, high;
};
DANAUS_DEVICE DoubleWords words_of(double value) {
  std::uint64_t bits;
  memcpy(&bits, &value, 8);
  return {static_cast<u32>(bits), static_cast<u32>(bits >> 32)};
}
DANAUS_DEVICE double double_of(DoubleWords words) {
  const std::uint64_t bits = std::uint64_t{words.high} << 32 | words.low;
  double value;
  memcpy(&value, &bits, 8);
  return value;
}

}  // namespace danaus::inline DANAUS_BACKEND
