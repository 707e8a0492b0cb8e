// Bits of a word that are set.
#pragma once

#include "kernels/device/operations.hpp"

#if !defined(__CUDACC__)
#include <bit>
#endif

namespace danaus::inline DANAUS_BACKEND {

DANAUS_DEVICE int count_bits(u32 word) {
#if defined(__CUDACC__)
  return __popc(word);
#else
  return std::popcount(word);
#endif
}

}  // namespace danaus::inline DANAUS_BACKEND
