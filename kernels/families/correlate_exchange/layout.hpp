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
  int shares = 1;      // of the frequencies, a block's is one: 1, or radix, where sums of all have no room
  constexpr int size() const { return 64 * radix * columns; }
  constexpr bool has_path(Path path) const { return path == Path::tensor || path == Path::threads; }
  bool operator==(const Key&) const = default;
};

struct Tuning {
  int warps = 0;   // of a block
  int ring = 0;    // slabs of shared memory
  int blocks = 0;  // on an SM at once: what registers and shared memory are limited for
  int pairs = 1;   // of lines in step B at once, of u and of dy
  bool operator==(const Tuning&) const = default;
};

// An item is one of a convolution's: its rows of u and of dy. Its slabs, of u and dy in turn, go through a ring; what
// step A makes of them, and a block keeps, has a place of its own.
struct Layout {
  Key key;
  Tuning tuning;

  constexpr Layout(const Key& k, const Tuning& t)
      : key(k), tuning(t), steps(steps_of(k, t, k.radix)), kept(steps_of(k, t, k.radix / k.shares)) {}

  exchange::Layout steps;  // the convolution's, whose steps A and B these are
  exchange::Layout kept;   // of frequencies kr of one share: 64 radix / shares rows
  int size = steps.size, threads = steps.threads;
  int kept_rows = key.radix / key.shares;  // times 64

  // Step A goes through an item stage by stage: of as many slabs as the warps have units of, one each.
  int item_slabs = 2 * steps.slabs;
  int stage_slabs = (tuning.warps + steps.column_chunks - 1) / steps.column_chunks;
  int stage_units = stage_slabs * steps.column_chunks / tuning.warps;  // of a warp
  // Whether places are filled again between stages, not between items.
  bool refills_between = tuning.ring < 2 * item_slabs;

  // Shared memory: barriers, exponents of the units of step A (bf16), a table for step B, what is kept, the ring.
  int exponents_begin = 512;
  int table_begin = 1024;
  int table_bytes = 512 * kept.group_lines * kept.line_vectors;
  int kept_begin = (table_begin + table_bytes + 1023) / 1024 * 1024;
  int kept_stride = 2 * kept.row_bytes;  // of a slab, the real row and the imaginary one
  int ring_begin = kept_begin + item_slabs * kept_stride;
  int slab_stride = steps.load_bytes;
  int shared_bytes = ring_begin + tuning.ring * slab_stride;

  constexpr const char* broken_rule() const {
    if (key.shares != 1 && key.shares != key.radix) return "shares: one, or one of each kr";
    if (stage_slabs * steps.column_chunks % tuning.warps != 0) return "warps: each has as many units of a stage";
    if (item_slabs % stage_slabs != 0) return "warps: an item is whole stages";
    if (tuning.ring < stage_slabs || tuning.ring % stage_slabs != 0) return "ring: whole stages";
    if (8 * tuning.ring > exponents_begin) return "ring: barriers stand before the exponents";
    if (exponents_begin + 8 * steps.units > table_begin)
      return "columns: exponents of the units of u and dy stand before the table";
    const char* broken = steps.broken_rule();
    return broken ? broken : kept.broken_rule();
  }

 private:
  static constexpr exchange::Layout steps_of(const Key& k, const Tuning& t, int radix) {
    return {{k.dtype, k.pair ? Fold::pair : Fold::right_angle, false, radix, k.columns},
            {.warps = t.warps, .ring = k.columns <= 64 ? 1 : k.columns / 64, .blocks = t.blocks, .pairs = t.pairs}};
  }
};

}  // namespace danaus::correlate_exchange
