// Of the correlation of rows by an exchange: what its kernel is compiled for and given, and the sizes and places that
// follow.
#pragma once

#include "kernels/families/exchange/layout.hpp"
#include "kernels/memory/correlation.hpp"

namespace danaus::correlate_exchange {

struct Key {
  Dtype dtype;
  bool pair;           // fold: pair or right angle
  int radix, columns;  // N = 64 radix * columns
  constexpr int size() const { return 64 * radix * columns; }
  bool operator==(const Key&) const = default;
};

struct Tuning {
  int warps = 0;   // of a block
  int ring = 0;    // items of shared memory
  int blocks = 0;  // on an SM at once: what registers and shared memory are limited for
  int pairs = 1;   // of lines in step B at once, of u and of dy
  bool operator==(const Tuning&) const = default;
};

// An item is one of a convolution's: its rows of u and of dy.
struct Layout {
  Key key;
  Tuning tuning;

  constexpr Layout(const Key& k, const Tuning& t)
      : key(k),
        tuning(t),
        steps({k.dtype, k.pair ? Fold::pair : Fold::right_angle, false, k.radix, k.columns},
              {.warps = t.warps, .ring = k.columns <= 64 ? 1 : k.columns / 64, .blocks = t.blocks, .pairs = t.pairs}) {}

  exchange::Layout steps;  // the convolution's, whose steps A and B these are
  int size = steps.size, threads = steps.threads;

  int slab_stride = 2 * steps.row_bytes;  // of the right angle, the real row and the imaginary one
  int array_stride = steps.slabs * slab_stride;
  int slabs_begin = (steps.table_begin + steps.table_bytes + 1023) / 1024 * 1024;
  int shared_bytes = slabs_begin + 2 * tuning.ring * array_stride;

  constexpr const char* broken_rule() const {
    if (tuning.ring < 2) return "ring: an item and the next one";
    if (steps.exponents_begin + 8 * steps.units > steps.table_begin)
      return "columns: exponents of the units of u and dy stand before the table";
    return steps.broken_rule();
  }
};

}  // namespace danaus::correlate_exchange
