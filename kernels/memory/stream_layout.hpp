// How a part of a channel's row lies in shared memory where lanes read it as 16 lines.
#pragma once

#include "kernels/memory/division.hpp"

namespace danaus {

inline constexpr int kStreamLines = 16;
inline constexpr int kStreamBlock = 32;   // samples: four chunks of 16 bytes
inline constexpr int kLeastLine = 2;      // blocks
inline constexpr int kGroupChannels = 8;  // of channels last: those of 16 bytes

// A stream is a run of samples of one channel: `halo` blocks that stand before what is to be computed, then 16 lines of
// 2^shift blocks each, one after the other. A lane's line is another one than its neighbours', so what a warp reads is
// far apart: chunk c is stored as chunk c ^ turn, by which the lines that are read together fall into different banks.
struct StreamLayout {
  int shift = 1, halo = 0;

  DANAUS_HOST_AND_DEVICE constexpr int samples() const { return kStreamLines * kStreamBlock << shift; }
  // Whole lines of 128 bytes.
  DANAUS_HOST_AND_DEVICE constexpr int chunks() const { return 4 * ((kStreamLines << shift) + (halo + 1) / 2 * 2); }
  DANAUS_HOST_AND_DEVICE constexpr int bytes() const { return 16 * chunks(); }
  DANAUS_HOST_AND_DEVICE constexpr int place(int chunk) const {
    const int line = chunk >> (shift + 2);
    return 16 * (chunk ^ ((line & 1) << 2 | (line >> 1 & 3)));
  }
  // Of chunk `chunk` of block `block` of a line; blocks before a line's first are the line's before, or of the halo.
  DANAUS_HOST_AND_DEVICE constexpr int place(int line, int block, int chunk) const {
    return place(4 * ((line << shift) + block + halo) + chunk);
  }
};

}  // namespace danaus
