// What moving rows needs to know of a kernel's layout. Every family's Layout begins with it.
#pragma once

#include "kernels/device/cache.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus {

// Where constants that a block reads again and again are kept.
enum class Keep { registers, shared, cache };

// A slab is a part of the rows of one item: of two batch rows (pair), or of one row, real and imaginary (right angle).
struct RowLayout {
  constexpr RowLayout(Dtype type, Fold fold, bool with_gates, int fft_size, int slabs_of_item, int bytes_of_row,
                      int offset_of_slab, Cache of_rows)
      : dtype(type),
        pair(fold == Fold::pair),
        gated(with_gates),
        size(fft_size),
        slabs(slabs_of_item),
        row_bytes(bytes_of_row),
        slab_offset(offset_of_slab),
        rows(of_rows) {}

  Dtype dtype;
  bool pair;        // fold: pair or right angle
  bool gated;       // takes gates, either or both
  int size;         // N
  int slabs;        // of an item
  int row_bytes;    // of one row in a slab
  int slab_offset;  // samples between the same chunk of successive slabs
  Cache rows;       // what L2 should do with u, y and the gates
  int item_rows = pair ? 2 : 1;
  int row_chunks = row_bytes / 16;  // 16-byte chunks of a row in a slab
};

}  // namespace danaus
