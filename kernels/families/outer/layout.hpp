// Of the outer passes of a long convolution: what their kernel is compiled for and given, and the sizes and places that
// follow.
#pragma once

#include <cstdint>

#include "kernels/memory/arguments.hpp"
#include "kernels/memory/division.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus::outer {

struct Key {
  Dtype dtype;
  Fold fold;  // pair or right angle
  int radix;  // N1 = 64 radix
  bool back;
  bool some = false;  // rows k_hi there are, the others are zero: those that a mask leaves nothing of
  constexpr bool is_sample() const { return radix == 1; }  // enough to show that the family compiles
  bool operator==(const Key&) const = default;
};

struct Tuning {
  int ring = 0;    // tiles of shared memory
  int blocks = 0;  // on an SM at once: what registers and shared memory are limited for
  int sides = 1;   // of a tile, 64 columns each
  int warps = 8;   // of a block
  bool operator==(const Tuning&) const = default;
};

// A tile has some columns of all N1 rows of an item, side by side 64 of them, as two planes: two batch rows (pair
// fold), or the real and the imaginary part of what one row becomes (right angle). A line is one row's 64 columns of a
// side, 128 bytes, its 16-byte chunk c swizzled; line nr 8 + n1 + 8 r n2, and where k2 and k1 are then, as in the
// exchange. A warp has eight columns at a time.
struct Layout {
  Key key;
  Tuning tuning;

  constexpr Layout(const Key& k, const Tuning& t) : key(k), tuning(t) {}

  Dtype dtype = key.dtype;
  bool pair = key.fold == Fold::pair;
  bool scaled = dtype == Dtype::bf16;
  int radix = key.radix, rows = 64 * radix;
  int item_rows = pair ? 2 : 1;
  int threads = 32 * tuning.warps;
  int tile_columns = 64 * tuning.sides;
  int warp_sides = 8 * tuning.sides / tuning.warps;  // one after the other
  int rows_at_once = threads / 8 / tuning.sides;     // that threads move, 16 bytes each

  // Of the DFT (tile/rows64.hpp).
  bool rows16 = radix == 2;
  bool real_rows = !pair && radix <= 3;
  int eight_at = 0;
  int sixteen_at = eight_at + 1;
  int outer_at = sixteen_at + 3;
  int weighted_at = outer_at + (radix + 1) / 2;
  int weighted_vectors = pair ? 0 : real_rows ? (radix * radix + 1) / 2 : 1;
  int split_at = weighted_at + 2 * weighted_vectors;  // four for each kr: of eight columns
  int table_vectors = split_at + 4 * radix;

  // Scales: matrices of 8 and 16 points, the twiddle that makes both stages unitary up to a power of two, and all.
  double eight = 0.5, sixteen = 0.25, first = radix == 1 ? 0.5 : radix == 2 ? 1 : 0.25;
  double scale = (rows16 ? sixteen : eight) * eight * first;

  // Of a column in a tile (memory/column.hpp).
  int rows_per_line = 1, column_chunks = 8;
  bool apart = false;

  int row_bytes = 128 * rows;  // of a plane in a tile
  int side_bytes = 2 * row_bytes;
  int tile_bytes = tuning.sides * side_bytes;
  int shared_bytes = tuning.ring * tile_bytes;

  constexpr const char* broken_rule() const {
    if (radix < 1 || radix > 7 || radix == 6) return "radix: 1 to 5, or 7";
    if (tuning.ring < 2) return "ring: an item and the next one";
    if (tuning.warps != 8 && tuning.warps != 8 * tuning.sides) return "warps: eight of each side, or of all";
    return nullptr;
  }
};

struct Arguments {
  void* samples;     // [B, H, L]: u; of the pass back y, which is written
  const void* gate;  // [B, H, L] or null
  RowStrides samples_strides, gate_strides;
  void* planes;                 // [B', chunk's channels, rows, N2]: rows 2 p and 2 p + 1 are the two planes of item p
  const std::uint32_t* tables;  // constants of the DFT
  const std::uint32_t* slots;   // [N1] where a row k_hi stands among those that there are, or ~0; null where all are
  int batch, channels, length;
  int first_channel, channel_count;  // the chunk's
  // [items, N2 / 8, 2]: of each item, unit of eight columns and row, of the pass there the energy of its samples; NaN
  // from the pass back on where results are not finite. Null: none.
  float* energies;
  int items_of_channel;  // there
  int columns;           // N2, a multiple of a tile's
  int rows;              // of N1, that there are
  bool aligned;          // all rows begin at 16 bytes and are whole chunks
};

}  // namespace danaus::outer
