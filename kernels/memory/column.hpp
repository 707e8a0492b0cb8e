// Where eight columns of 64 r rows lie in a slab: what a warp transforms at a time (tile/rows64.hpp).
#pragma once

#include "kernels/memory/rows.hpp"

namespace danaus::inline DANAUS_BACKEND {

// The 16-byte chunks of column `chunk`: for each nr two 16-byte loads a row give the 8 samples n4 of n1 = 2t and 2t+1
// at n2 = g. Where rows g and g + 1 are not neighbours in one line, odd g take n1 = 2t+1 first: eight lanes then read
// eight different chunks.
template <class P>
struct Column {
  SharedAddress address[2], imaginary[2];  // in the slab's first and second row, nr = 0
  u32 low, high;  // byte selectors: (first, second) -> pairs of the low halves, of the high halves
  bool swapped;
  DANAUS_DEVICE Column() {}
  DANAUS_DEVICE Column(SharedAddress real, SharedAddress imaginary_row, int chunk) {
    const int lane = device::lane_index(), g = lane / 4, t = lane % 4;
    swapped = takes_odd_first(g);
    DANAUS_UNROLL
    for (int b = 0; b < 2; ++b) {
      const int n1 = 2 * t + (swapped ? 1 - b : b);
      const int line = n1 + 8 * P::layout.radix * (g / P::layout.rows_per_line);
      const SharedAddress offset =
          swizzled(128 * line + 16 * (g % P::layout.rows_per_line * P::layout.column_chunks + chunk));
      address[b] = real + offset, imaginary[b] = imaginary_row + offset;
    }
    low = swapped ? 0x1054 : 0x5410;
    high = swapped ? 0x3276 : 0x7632;
  }
  // tiles[n4]: one register of each of the eight tiles.
  DANAUS_DEVICE void unpack(Words<4> first, Words<4> second, u32 (&tiles)[8]) const {
    DANAUS_UNROLL
    for (int i = 0; i < 4; ++i) {
      tiles[2 * i] = device::permute_bytes(first[i], second[i], low);
      tiles[2 * i + 1] = device::permute_bytes(first[i], second[i], high);
    }
  }
  DANAUS_DEVICE void pack(const u32 (&tiles)[8], Words<4>& first, Words<4>& second) const {
    const u32 one = swapped ? 0x7632 : 0x5410, two = swapped ? 0x5410 : 0x7632;
    DANAUS_UNROLL
    for (int i = 0; i < 4; ++i) {
      first[i] = device::permute_bytes(tiles[2 * i], tiles[2 * i + 1], one);
      second[i] = device::permute_bytes(tiles[2 * i], tiles[2 * i + 1], two);
    }
  }
  DANAUS_DEVICE void load(int row, int nr, u32 (&tiles)[8]) const {
    unpack(words(row, nr, 0), words(row, nr, 1), tiles);
  }
  DANAUS_DEVICE void store(int row, int nr, const u32 (&tiles)[8]) const {
    Words<4> first, second;
    pack(tiles, first, second);
    keep(row, nr, first, second);
  }
  DANAUS_DEVICE Words<4> words(int row, int nr, int b) const { return device::load_shared<16>(at(row, nr, b)); }
  DANAUS_DEVICE void keep(int row, int nr, Words<4> first, Words<4> second) const {
    device::store_shared<16>(at(row, nr, 0), first);
    device::store_shared<16>(at(row, nr, 1), second);
  }
  // The row n_hi that this lane has in loads (0, b), and the first of the 8 samples that it has of `unit` in (nr, b).
  static DANAUS_DEVICE int row(int b) {
    const int lane = device::lane_index(), g = lane / 4, n1 = 2 * (lane % 4) + (takes_odd_first(g) ? 1 - b : b);
    return 8 * n1 + g;
  }
  static DANAUS_DEVICE int sample(int unit, int nr, int b) { return P::layout.columns * (64 * nr + row(b)) + 8 * unit; }

 private:
  static DANAUS_DEVICE bool takes_odd_first(int g) { return P::layout.rows_per_line < 8 && g % 2 == 1; }
  DANAUS_DEVICE SharedAddress at(int row, int nr, int b) const {
    return (P::layout.apart && row == 1 ? imaginary[b] : address[b] + row * P::layout.row_bytes) + 1024 * nr;
  }
};

}  // namespace danaus::inline DANAUS_BACKEND
