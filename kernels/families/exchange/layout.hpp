// Of an exchange: what it is compiled for, what measurement decides, and every size and place that follows from both.
// Kernel, tables and launches read the same numbers here.
#pragma once

#include <algorithm>

#include "kernels/memory/division.hpp"
#include "kernels/memory/layout.hpp"
#include "kernels/product/slots.hpp"

namespace danaus::exchange {

struct Key {
  Dtype dtype;
  Fold fold;  // pair, right angle or plain
  bool gated;
  int radix, columns;     // N = 64 radix * columns, as kernel.hpp has the index
  bool sparse = false;    // leaves out what a mask removes
  bool filtered = false;  // short filters convolve u and gates first
  constexpr int size() const { return 64 * radix * columns; }
  bool operator==(const Key&) const = default;
};

// How a block goes through the steps of its items; | is a barrier of the block.
enum class Order {
  in_turn,          // A(n) | B(n) | A back(n) |       the ring has room for the next item beside this one
  slab_by_slab,     // the same, but slabs are stored as they are done, and their places filled again
  overlapped,       // A back(n - 1), A(n) | B(n) |    places are filled again during the steps A
  overlapped_late,  // the same, filled again during step B, for which two items' room is enough
};

// Which lines of step B a warp takes.
enum class Lines {
  one_group,   // of one group, whose matrices registers hold
  two_groups,  // the same ones of two groups at once, which share a load of their twiddles
  held,        // the same few of each of several groups, whose twiddles registers hold
};

// What measurement decides; legality is Layout's.
struct Tuning {
  int warps = 0;      // of a block
  int ring = 0;       // slabs of shared memory; those of the right angle may be half as large (kernel.hpp)
  int blocks = 0;     // on an SM at once: what registers and shared memory are limited for
  int gate_ring = 0;  // slabs of the ring of gates; 0: gates come from global memory as samples are read
  Order order = Order::in_turn;
  int stores = 1;                // of an item; more than one slab by slab
  Keep spectrum = Keep::cache;   // the channel's
  Keep twiddles = Keep::shared;  // of step B's lines; of held lines, the matrices of the groups
  Lines lines = Lines::one_group;
  int pairs = 1;                   // of lines in step B at once
  bool unit_in_registers = false;  // the constants of step A's only unit of a warp
  int fetches = 1;                 // of slabs without a branch between
  bool units_rolled = false;       // a warp's units of step A as a loop
  Cache rows = Cache::normal;
  int live = 100;  // of a hundred pieces of a masked spectrum, how many may be left: what there is room for, and pays
  bool operator==(const Tuning&) const = default;
};

// Pairs of lines of step B in batches: of each of `groups` neighbouring groups `pairs`.
struct LineBatches {
  int group_pairs, groups, pairs;
  // The first pair of the batch that one belongs to.
  DANAUS_HOST_AND_DEVICE constexpr int begin(int pair) const {
    const int group = pair / group_pairs, of_group = pair % group_pairs;
    return (group - group % groups) * group_pairs + of_group - of_group % pairs;
  }
};

struct Layout : RowLayout {
  Key key;
  Tuning tuning;

  constexpr Layout(const Key& k, const Tuning& t)
      : RowLayout(k.dtype, k.fold, k.gated, k.size(), k.columns <= 64 ? 1 : k.columns / 64, 8 * k.radix, 8 * k.columns,
                  k.columns <= 64 ? 64 : k.columns, t.rows),
        key(k),
        tuning(t) {
    filtered = k.filtered;
  }

  int radix = key.radix, columns = key.columns;
  int threads = 32 * tuning.warps;

  // Slabs.
  int slab_columns = columns / slabs;
  int column_chunks = slab_columns / 8;   // 16-byte chunks of one row n_hi in a slab
  int rows_per_line = 8 / column_chunks;  // rows n2 that share a line of 128 bytes
  int slab_bytes = 2 * row_bytes;
  int load_bytes = item_rows * row_bytes;  // of one tensor copy

  // Digits of the index.
  bool rows16 = radix == 2;              // nr and n1 are one digit of 16
  bool real_rows = !pair && radix <= 3;  // real data: nr and n1 are one digit of 8 r
  bool columns16 = slabs % 2 == 0;       // the lowest bit of ns and n3 are one digit of 16

  // Step A: units of one column of chunks. Step B: lines of a slab, two rows (re, im) each, in pairs; a group is the
  // 8 r lines that share the matrices over n4.
  int units = slabs * column_chunks;
  int units_per_warp = units / tuning.warps;
  int lines = slab_bytes / 256;
  int lines_per_warp = lines / tuning.warps;
  int pairs_per_warp = lines_per_warp / 2;
  int group_lines = 8 * radix, groups = lines / group_lines;
  int line_vectors = columns16 ? 2 : 1;  // of twiddles of a line
  int held_lines = 4 / line_vectors;     // of a group, where they are held
  bool several_groups = tuning.lines == Lines::held;
  int batch_groups = tuning.lines == Lines::two_groups ? 2 : 1;
  int warp_groups = several_groups ? lines_per_warp / held_lines : batch_groups;
  int warp_lines = lines_per_warp / warp_groups;  // of a group
  int batch_pairs = tuning.pairs / batch_groups;  // of a group at once
  int batches = pairs_per_warp / tuning.pairs;
  bool lines_in_registers = several_groups || tuning.twiddles == Keep::registers;

  // Of a masked spectrum, step B computes or leaves out batches.
  bool sparse = key.sparse;
  LineBatches line_batches{group_lines / 2, batch_groups, batch_pairs};
  constexpr int live_block(int vector) const {  // that a vector of the spectrum belongs to
    return line_batches.begin(vector / slabs);
  }

  // Of a real row's spectrum one half is enough (plain fold): k_hi with k1 < 4, whose mirrors have the others, and of
  // kr = 0 with k1 = 4. They are the first pairs of lines; those of k1 = 4 have of rows that share a line the next k1.
  bool half = key.fold == Fold::plain;
  int live_pairs = half ? groups / 2 * (group_lines / 2) + 4 : lines / 2;
  int spectrum_numbers = 128 * live_pairs * slabs;             // of a channel
  int most_pieces = spectrum_numbers / 4 * tuning.live / 100;  // that a sparse kernel takes of it

  bool range_parts = may_have_range_parts(key.fold, size);

  // Tables, in vectors of four words a lane.
  int eight_at = 0;                             // DFT8 n1, DFT n3
  int sixteen_at = eight_at + 2;                // DFT16: even, odd, odd transposed
  int outer_at = sixteen_at + 3;                // w_{64 r}^(kr (8 n1 + n2)), two kr a vector
  int slab_at = outer_at + (radix + 1) / 2;     // before n3, two slabs a vector
  int weighted_at = slab_at + (slabs + 1) / 2;  // real data: first matrix there, and back
  int weighted_vectors = pair ? 0 : real_rows ? (radix * radix + 1) / 2 : 1;
  int line_at = weighted_at + 2 * weighted_vectors;     // per line of a group: step B's twiddles
  int group_at = line_at + group_lines * line_vectors;  // per group: DFT8 n4 there, back
  int unit_at = group_at + 2 * groups;                  // per unit, there and back: DFT8 n2, and
  int unit_vectors = 1 + (radix + 1) / 2;               //   twiddles, two kr a vector
  int table_vectors = unit_at + 2 * units * unit_vectors;
  int marks_at = sparse ? 128 * table_vectors : 0;  // in words, behind them: of the spectrum (product/slots.hpp)

  // Shared memory: barriers, exponents of the units of step A (bf16), notes, a channel's spectrum, a table for step B,
  // the ring of slabs, the ring of gates. Where one item at a time is between A and A back, the imaginary rows of the
  // right angle have one place for all items, and a place of the ring holds real ones alone.
  int shared_table = several_groups ? group_at : line_at;  // vectors from here on
  int exponents_begin = 512;
  int notes_begin = exponents_begin + (4 * units + 7) / 8 * 8;  // 8 bytes a warp: memory/walks.hpp
  int numbers_begin = 1024;  // of a masked spectrum, whose pieces are packed (product/multiply.hpp)
  int numbers_bytes = sparse ? kNumbersOfVector * live_pairs * slabs + kZeroBytes : 0;
  int spectrum_begin = numbers_begin + (numbers_bytes + 1023) / 1024 * 1024;
  int spectrum_bytes = sparse ? (16 * most_pieces + 1023) / 1024 * 1024 : 4 * spectrum_numbers;
  int table_begin = spectrum_begin + (is_shared(tuning.spectrum) ? spectrum_bytes : 0);
  int table_bytes = tuning.twiddles != Keep::shared ? 0
                    : several_groups                ? 1024 * groups
                                                    : 512 * group_lines * line_vectors;
  int imaginary_begin = table_begin + table_bytes;
  bool apart = !pair && (radix > 1 || slabs > 1);
  int place_bytes = apart ? row_bytes : slab_bytes;
  int slabs_begin = imaginary_begin + (apart ? slabs * row_bytes : 0);
  int gates_begin = slabs_begin + tuning.ring * place_bytes;
  int shared_bytes = gates_begin + tuning.gate_ring * load_bytes;

  // In turn: where the ring has room for three items, it is refilled one item behind the stores, so that nobody waits
  // for them.
  int lag = tuning.ring >= 3 * slabs ? 1 : 0;
  // Slab by slab: whether places that stores leave are filled between a warp's units.
  bool refills_between = tuning.ring < slabs + slabs / tuning.stores;
  // Where the ring of gates cannot hold those of an item, the pregate's places are filled again as they become free.
  int gate_groups = tuning.gate_ring >= slabs ? 1 : units_per_warp;

  // The rule that key and tuning break, or null. Kernels of those that break one are not compiled.
  constexpr const char* broken_rule() const {
    const Tuning& t = tuning;
    const bool overlaps = t.order == Order::overlapped || t.order == Order::overlapped_late;
    if (columns != 8 && columns != 16 && columns != 32 && columns % 64 != 0) return "columns: 8, 16, 32 or times 64";
    if (row_bytes % 1024 != 0) return "row_bytes: whole swizzle patterns, so that both rows are swizzled alike";
    if (8 * (t.ring + t.gate_ring + 2) > exponents_begin) return "ring: barriers stand before the exponents";
    if (notes_begin + 8 * t.warps > numbers_begin)
      return "columns: exponents of units and notes stand before the spectrum";
    if (slabs_begin % 1024 != 0) return "slabs_begin: slabs are swizzled by their addresses";
    if (units % t.warps != 0) return "warps: each takes the same number of columns, always the same ones";
    if (lines % (2 * t.warps) != 0) return "warps: each takes whole pairs of lines";
    if (t.unit_in_registers && units_per_warp != 1) return "unit_in_registers: a warp has one unit";
    if (several_groups && (lines_per_warp % held_lines != 0 || warp_groups < 2 || groups % warp_groups != 0))
      return "lines: held ones are the same few of each of several groups";
    if (several_groups && t.twiddles == Keep::registers) return "twiddles: those of held lines are in registers anyway";
    if (batch_groups == 2 && (groups % 2 != 0 || group_lines % (lines_per_warp / 2) != 0))
      return "lines: two groups at once are whole";
    if (group_lines % warp_lines != 0) return "lines: a warp's are of one part of a group";
    if (batch_pairs < 1 || pairs_per_warp % t.pairs != 0 || warp_lines % (2 * batch_pairs) != 0)
      return "pairs: batches are whole, each within one group or two";
    if (t.ring < slabs) return "ring: an item at least";
    if (overlaps && t.ring < 2 * slabs) return "ring: two items overlap";
    if (overlaps && gated && t.gate_ring < 2 * slabs) return "gate_ring: gates of two items";
    if (filtered && (!gated || sparse)) return "filtered: of kernels that take gates";
    if (filtered && (overlaps || refills_between)) return "order: an item is filtered when all of it has come";
    if (filtered && t.gate_ring < slabs) return "gate_ring: a gate is filtered when all of it has come";
    if (filtered && size / 128 % (2 * t.warps) != 0) return "warps: each filters as many blocks of 256 samples";
    if (sparse && (key.fold == Fold::right_angle || gated))
      return "sparse: of masks, which the pair fold and the plain one have, and without gates";
    if (half && (gated || !real_rows || groups < 2))
      return "fold: plain, without gates, has a radix up to 3, and a group of lines for each half";
    if (half && (batch_groups != 1 || 4 % batch_pairs != 0)) return "pairs: of a half spectrum, four are live or none";
    if (sparse && !is_shared(t.spectrum)) return "spectrum: live pieces are packed in shared memory";
    if (sparse && (t.live < 1 || t.live > 100)) return "live: a part of the spectrum, in percent";
    if (sparse && batches > 32) return "sparse: a warp's batches are bits of a word";
    if ((t.order == Order::slab_by_slab) != (t.stores > 1)) return "stores: more than one are slab by slab";
    if (t.stores > 1 && (units_per_warp % t.stores != 0 || slabs % t.stores != 0)) return "stores: of whole slabs";
    if (t.gate_ring > 0 && (t.gate_ring * gate_groups < slabs || t.gate_ring * t.stores < slabs))
      return "gate_ring: an item's slabs, refilled between units";
    if (t.gate_ring > 0 && t.stores != 1 && gate_groups != 1 && gate_groups != t.stores)
      return "gate_ring: refilled as slabs are stored";
    return nullptr;
  }
};

}  // namespace danaus::exchange
