// Samples and spectra as they are stored, and points of a lane as they are in memory.
#pragma once

#include "kernels/families/layer/layout.hpp"

namespace danaus::layer::inline DANAUS_BACKEND {

// What is stored of one sum (f32), or of two that belong together (16 bits).
template <class P>
DANAUS_DEVICE u32 stored(float value) {
  return P::layout.split ? word_of(value) : device::round_tf32(value);
}

// What products take of a number, which is read by nothing else.
template <class P>
DANAUS_DEVICE u32 operand(float value) {
  return P::layout.split ? word_of(value) : device::operand_tf32(value);
}

// Consecutive points of a lane, in the order of memory.
template <class P>
struct Points {
  static constexpr Layout layout = P::layout;
  Words<layout.words> word{};

  // Point i of 32 bits (f16 complex, f32 real), 64 or 16.
  static constexpr int kBytes = layout.number_bytes * (layout.key.complex ? 2 : 1);

  DANAUS_DEVICE void load(const void* row, long long n) {
    word = device::load_global<4 * layout.words>(static_cast<const unsigned char*>(row) + kBytes * n);
  }
  DANAUS_DEVICE void store(void* row, long long n) const {
    device::store_global<4 * layout.words>(static_cast<unsigned char*>(row) + kBytes * n, word);
  }
  DANAUS_DEVICE void load_one(const void* row, long long n, int i) {
    const auto one = device::load_global<kBytes>(static_cast<const unsigned char*>(row) + kBytes * n);
    if constexpr (kBytes == 2) {
      word[i / 2] |= one[0] << (16 * (i % 2));
    } else {
      DANAUS_UNROLL
      for (int w = 0; w < kBytes / 4; ++w) word[i * (kBytes / 4) + w] = one[w];
    }
  }
  DANAUS_DEVICE void store_one(void* row, long long n, int i) const {
    Words<(kBytes + 3) / 4> one;
    if constexpr (kBytes == 2) {
      one[0] = word[i / 2] >> (16 * (i % 2)) & 0xffffu;
    } else {
      DANAUS_UNROLL
      for (int w = 0; w < kBytes / 4; ++w) one[w] = word[i * (kBytes / 4) + w];
    }
    device::store_global<kBytes>(static_cast<unsigned char*>(row) + kBytes * n, one);
  }
  DANAUS_DEVICE Points reversed() const {
    Points r;
    DANAUS_UNROLL
    for (int i = 0; i < layout.words; ++i) {
      if constexpr (kBytes == 2)
        r.word[i] = device::permute_bytes(word[layout.words - 1 - i], 0, 0x1032);
      else if constexpr (kBytes == 4)
        r.word[i] = word[layout.words - 1 - i];
      else
        r.word[i] = word[(layout.words / 2 - 1 - i / 2) * 2 + i % 2];
    }
    return r;
  }
};

}  // namespace danaus::layer::inline DANAUS_BACKEND
