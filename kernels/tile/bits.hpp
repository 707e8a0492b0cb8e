// fp32 numbers as the words that kernels move.
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

}  // namespace danaus::inline DANAUS_BACKEND
