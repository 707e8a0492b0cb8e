// Of a long convolution by a cluster of blocks: what its kernel is compiled for, what measurement decides, and the
// sizes and places that follow from both.
#pragma once

#include "kernels/memory/arguments.hpp"
#include "kernels/memory/layout.hpp"

namespace danaus::cluster {

struct Key {
  Dtype dtype;
  Fold fold;    // pair or right angle
  int radix;    // N1 = 64 radix
  int columns;  // N2, a chain's
  int shares;   // blocks of a cluster
  constexpr int size() const { return 64 * radix * columns; }
  constexpr bool has_path(Path path) const { return path == Path::tensor || path == Path::threads; }
  constexpr bool is_sample() const { return radix == 1 && dtype == Dtype::f16 && fold == Fold::pair; }
  bool operator==(const Key&) const = default;
};

struct Tuning {
  int warps = 0;   // of a block
  int ring = 0;    // planes of slabs that are on their way from global memory
  int blocks = 0;  // on an SM at once: what registers and shared memory are limited for
  bool operator==(const Tuning&) const = default;
};

// A slab is 64 columns of all N1 rows of an item, as two planes: two batch rows (pair fold), or the real and the
// imaginary part of what one row becomes (right angle). A line is one row's 64 columns, 128 bytes. In a slab as it
// comes from global memory row n_hi is line n_hi / 8 + 8 r (n_hi % 8); its DFT leaves k_hi = l / 8 + 8 r (l % 8) at
// line l.
//
// Each block has room for `own_slabs` slabs: kept. Between the steps they hold its own lines of k_hi, those from
// own_lines rank on, of all columns: line i of them, columns of block c's slab q, are at line own_lines c + i of slab
// q. Afterwards they hold its own columns, of all lines: line l is line l. So what block c and block j give each other
// changes places.
struct Layout : RowLayout {
  Key key;
  Tuning tuning;

  constexpr Layout(const Key& k, const Tuning& t)
      : RowLayout(k.dtype, k.fold, false, k.size(), k.columns / 64, 8 * k.radix, 8 * k.columns, k.columns,
                  Cache::stream),
        key(k),
        tuning(t) {}

  int radix = key.radix, lines = 64 * radix;
  int columns = key.columns, shares = key.shares;
  int inner_radix = columns / 256;  // of the chain
  int threads = 32 * tuning.warps;
  int own_slabs = slabs / shares, own_lines = lines / shares;
  int groups = tuning.warps / 8;  // of warps: each has a slab at a time, and a warp eight columns of it
  bool takes_turns = groups == 2 && tuning.ring == item_rows;  // of a ring that has a single slab
  int stages = own_slabs / groups;                             // slabs that a group has of an item
  int rounds = own_lines / tuning.warps;                       // lines that a warp has of an item

  // Of the DFT down columns (tile/rows64.hpp); scales as outer passes have them.
  bool rows16 = radix == 2;
  bool real_rows = !pair && radix <= 3;
  int eight_at = 0;
  int sixteen_at = eight_at + 1;
  int outer_at = sixteen_at + 3;
  int weighted_at = outer_at + (radix + 1) / 2;
  int weighted_vectors = pair ? 0 : real_rows ? (radix * radix + 1) / 2 : 1;
  // Each way: the second matrix and the twiddle before it, of columns from 0 on.
  int base_at = weighted_at + 2 * weighted_vectors, base_vectors = (radix + 2) / 2;
  int table_vectors = base_at + 2 * base_vectors;
  // And in words, behind these vectors: what eight columns multiply that by, each way; by what the columns among eight
  // turn a line, each way; the chain's constants.
  int factors_of_unit = 1 + radix;
  int units = columns / 8;
  int unit_words = 16 * factors_of_unit, unit_back_words = 8 * factors_of_unit;
  int units_at = 128 * table_vectors;
  int units_back_at = units_at + units * unit_words;
  int turns_at = units_back_at + units * unit_back_words;  // 8 words a line
  int turns_back_at = turns_at + 8 * lines;                // 16 words a line
  int chain_at = turns_back_at + 16 * lines;

  double eight = 0.5, sixteen = 0.25, first = radix == 1 ? 0.5 : radix == 2 ? 1 : 0.25;

  // Of a column in a slab (memory/column.hpp).
  int rows_per_line = 1, column_chunks = 8;
  bool apart = true;  // planes of the ring

  // Shared memory: the chain's outer twiddles, barriers, scratch of each warp for a quarter of a plane of a line, slabs
  // that are kept, the ring. Slabs that are kept begin a line further each, so that neighbouring lines of a row are
  // swizzled differently.
  int chain_bytes = 1024 * inner_radix;
  int barriers_begin = chain_bytes;
  int full_at = barriers_begin;  // of the ring: planes that have come,
  int full_barriers = (takes_turns ? 2 : 1) * tuning.ring;
  int free_at = full_at + 8 * full_barriers;             //   and that have been read
  int lines_read_at = free_at + 8 * tuning.ring;         // of each warp: its line has been read, in all blocks
  int slabs_free_at = lines_read_at + 8 * tuning.warps;  // of each slab: it has been stored, in all blocks
  int arrived_at = slabs_free_at + 8 * own_slabs;        // lines; columns: of the other blocks,
  int written_at = arrived_at + 16;                      //   and of this one
  int scratch_begin = (written_at + 16 + 127) / 128 * 128;
  int scratch_bytes = 512;
  int kept_begin = (scratch_begin + scratch_bytes * tuning.warps + 1023) / 1024 * 1024;
  int kept_stride = 2 * row_bytes + 128;
  int ring_begin = (kept_begin + own_slabs * kept_stride + 1023) / 1024 * 1024;
  int shared_bytes = ring_begin + tuning.ring * row_bytes;

  // Of an exchange, that other blocks write here.
  int arriving_bytes = 2 * row_bytes * own_slabs / shares * (shares - 1);

  constexpr const char* broken_rule() const {
    if (radix != 1 && radix != 2 && radix != 4) return "radix: 1, 2 or 4";
    if (inner_radix != 1 && inner_radix != 2 && inner_radix != 4 && inner_radix != 8) return "columns: a chain's";
    if (key.fold == Fold::plain) return "fold: pair or right angle";
    if (tuning.warps != 8 && tuning.warps != 16) return "warps: one or two groups of eight";
    if (shares < 2 || shares > 8) return "shares: 2 to 8, a portable cluster, and a lane's lines of step A are of one";
    if (slabs % (shares * groups) != 0) return "shares: each has slabs for all groups";
    if (own_slabs % 2 != 0) return "shares: neighbouring lines of a row are in neighbouring slabs";
    if (own_lines % 8 != 0 || own_lines % tuning.warps != 0) return "warps: each has as many lines";
    if (!takes_turns && tuning.ring % (groups * item_rows) != 0) return "ring: as many slabs for each group";
    return nullptr;
  }
};

}  // namespace danaus::cluster
