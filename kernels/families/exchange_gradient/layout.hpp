// Of the correlation of rows by an exchange: what its kernel is compiled for and given, and the sizes and places that
// follow.
#pragma once

#include <algorithm>

#include "kernels/families/exchange/layout.hpp"
#include "kernels/memory/correlation.hpp"

namespace danaus::exchange_gradient {

struct Key {
  Dtype dtype;
  bool pair;           // fold: pair or right angle
  int radix, columns;  // N = 64 radix * columns
  int shares = 1;      // of an item, one a block of a cluster: of its columns in step A, of its lines in step B
  bool gated = true;   // takes gates
  bool all = false;    // makes the gradients of rows, too
  constexpr int size() const { return 64 * radix * columns; }
  constexpr bool has_path(Path path) const { return path == Path::tensor || path == Path::threads; }
  bool operator==(const Key&) const = default;
};

struct Tuning {
  int warps = 0;   // of a block
  int ring = 0;    // slabs of shared memory, of pairs; of the right angle, half as large, there are twice as many
  int blocks = 0;  // on an SM at once: what registers and shared memory are limited for
  int pairs = 1;   // of lines in step B at once, of u and of dy
  int items = 1;   // of which there is room for what step A makes; two: step A goes an item ahead of step B
  bool operator==(const Tuning&) const = default;
};

// Places of what step A makes of an item, in the block that keeps it. Real and imaginary rows of a slab are as far
// apart as in a slab of the convolution; between them are those of the other blocks' slabs.
struct Kept {
  int begin, row_bytes, own_slabs, shares;
  DANAUS_HOST_AND_DEVICE constexpr int bytes() const { return row_bytes / shares; }  // of a row of a slab
  DANAUS_HOST_AND_DEVICE constexpr int at(int array, int slab, int row) const {
    return begin + (2 * (array * own_slabs + slab / shares) + row) * row_bytes + slab % shares * bytes();
  }
};

// An item is one of a convolution's: its rows of u and of dy. The slabs of a block's share, of u and dy in turn, go
// through a ring; what step A makes of all of them, as far as it is of the block's lines, has a place of its own.
struct Layout {
  Key key;
  Tuning tuning;

  constexpr Layout(const Key& k, const Tuning& t)
      : key(k),
        tuning(t),
        steps(steps_of(k, t, std::min(t.warps, k.columns / 8))),
        lines(steps_of(k, t, t.warps * k.shares)) {}

  exchange::Layout steps;  // the convolution's, whose steps A and B these are; of an array, warps may be fewer
  exchange::Layout lines;  // the same for step B, which all warps of a cluster divide
  int size = steps.size, threads = 32 * tuning.warps;
  int own_slabs = steps.slabs / key.shares;

  // Step A goes through a block's share of an item stage by stage: of as many slabs as the warps have units of, one
  // each.
  int item_slabs = 2 * own_slabs;
  int stage_slabs = (tuning.warps + steps.column_chunks - 1) / steps.column_chunks;
  int stage_units = stage_slabs * steps.column_chunks / tuning.warps;  // of a warp
  int ring = key.pair ? tuning.ring : 2 * tuning.ring;
  // Whether warps say of a place of the ring that they have read it, without a barrier of the block; and otherwise,
  // whether places are filled again between stages, not between items.
  bool frees_places = key.shares > 1 || tuning.items > 1;
  bool refills_between = ring < 2 * item_slabs;
  // Whether all that is read of an item has room there until its rows' gradients are stored.
  bool samples_stay = key.all && ring >= 2 * item_slabs;

  // Shared memory: barriers, exponents of the units of step A (bf16), a table for step B, what is kept, the ring.
  int barriers = 2 * ring + 4 * tuning.items;
  int exponents_begin = 512;
  int table_begin = 1024;
  int table_vectors = key.all ? steps.line_vectors : 1;  // of a line: the first has all of its twiddles there
  int table_bytes = 512 * steps.group_lines * table_vectors;
  int kept_begin = (table_begin + table_bytes + 1023) / 1024 * 1024;
  int item_bytes = 2 * item_slabs * steps.row_bytes;  // of what is kept
  int ring_begin = kept_begin + tuning.items * item_bytes;
  int slab_stride = steps.load_bytes;
  int shared_bytes = ring_begin + ring * slab_stride;

  // Of an item, that the other blocks of a cluster write here: lines, and exponents of their units.
  int arriving_bytes = (item_bytes + (steps.scaled ? 8 * steps.units : 0)) / key.shares * (key.shares - 1);

  Kept kept{kept_begin, steps.row_bytes, own_slabs, key.shares};

  constexpr const char* broken_rule() const {
    if (8 % key.shares != 0) return "shares: each is whole groups of lines";
    if (steps.slabs % key.shares != 0) return "shares: each is whole slabs";
    if (kept.bytes() % 1024 != 0) return "shares: rows of what is kept are whole swizzle patterns";
    if (steps.lines % (2 * lines.tuning.warps) != 0) return "warps: each takes whole pairs of lines";
    if (steps.group_lines % lines.warp_lines != 0) return "warps: a warp's lines are of one part of a group";
    if (lines.warp_lines % (2 * tuning.pairs) != 0) return "pairs: batches are whole";
    if (stage_slabs * steps.column_chunks % tuning.warps != 0) return "warps: each has as many units of a stage";
    if (item_slabs % stage_slabs != 0) return "warps: an item is whole stages";
    if (tuning.items != 1 && tuning.items != 2) return "items: step A is at most one ahead";
    if (ring % stage_slabs != 0) return "ring: whole stages";
    if (ring < (key.gated || !frees_places ? 2 : 1) * stage_slabs) return "ring: a stage, and one with its gates";
    if (key.gated && key.shares > 1 && tuning.items > 1)
      return "gates: warps that are two items apart lose count of places";
    if (key.all && (key.shares > 1 || tuning.items > 1)) return "all: one block has one item at a time";
    if (8 * barriers > exponents_begin) return "ring: barriers stand before the exponents";
    if (exponents_begin + 8 * steps.units * tuning.items > table_begin)
      return "columns: exponents of the units of u and dy stand before the table";
    return steps.broken_rule();
  }

 private:
  static constexpr exchange::Layout steps_of(const Key& k, const Tuning& t, int warps) {
    return {{k.dtype, k.pair ? Fold::pair : Fold::right_angle, false, k.radix, k.columns},
            {.warps = warps, .ring = k.columns <= 64 ? 1 : k.columns / 64, .blocks = t.blocks, .pairs = t.pairs}};
  }
};

}  // namespace danaus::exchange_gradient
