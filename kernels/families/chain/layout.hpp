// Of a chain: what it is compiled for, what measurement decides, and every size and place that follows from both.
// Kernel, tables and launches read the same numbers here.
#pragma once

#include "kernels/memory/layout.hpp"

namespace danaus::chain {

struct Key {
  Dtype dtype;
  Fold fold;  // pair or right angle
  bool gated;
  int radix;              // N = 256 radix
  bool sparse = false;    // leaves out what a mask removes
  bool filtered = false;  // short filters convolve u and gates first
  constexpr int size() const { return 256 * radix; }
  bool operator==(const Key&) const = default;
};

// What measurement decides; legality is Layout's.
struct Tuning {
  int warps = 0;                // of a block
  int ring = 0;                 // slabs of shared memory of each warp
  int blocks = 0;               // on an SM at once: what registers and shared memory are limited for
  Keep spectrum = Keep::cache;  // the channel's: by registers or by L1 and L2
  bool operator==(const Tuning&) const = default;
};

// One slab an item, in the order of the samples: lines of 64 samples, the 16-byte chunk c of line l at c ^ (l mod 8).
struct Layout : RowLayout {
  Key key;
  Tuning tuning;

  constexpr Layout(const Key& k, const Tuning& t)
      : RowLayout(k.dtype, k.fold, k.gated, k.size(), 1, k.size() / 64, 64, 64, Cache::normal), key(k), tuning(t) {
    filtered = k.filtered;
  }

  int radix = key.radix;
  int threads = 32 * tuning.warps;

  // The right angle of one block: its weights are part of DFT16 n1, real on one side, and of the inner twiddle.
  bool real_rows = !pair && radix == 1;

  // Tables, in vectors of four words a lane: DFT16; inner twiddle, w256^(k1 n2); of real rows that of the way back, and
  // DFT16 n1 there and back; otherwise, of each kr, the outer twiddle.
  int matrix_at = 0;
  int inner_at = matrix_at + 4;
  int inner_back_at = inner_at + 2;
  int real_at = inner_back_at + (real_rows ? 2 : 0), real_vectors = real_rows ? 2 : 0;  // each way
  int outer_at = real_at + 2 * real_vectors, outer_vectors = radix > 1 ? 2 * radix : 0;
  int table_vectors = outer_at + outer_vectors;
  bool sparse = key.sparse;
  int marks_at = sparse ? 128 * table_vectors : 0;  // in words, behind them: of the spectrum (product/slots.hpp)
  constexpr int live_block(int vector) const { return vector / 2; }  // kr
  int most_pieces = size / 4 / 2;  // it reads marks, 8 bytes of each vector of the spectrum, beside the 512 of these

  // Shared memory: outer twiddles, barriers, a ring of slabs for each warp. Rows of a slab: two of u, later of
  // y, whatever an item has; then those of the gates.
  int outer_bytes = 512 * outer_vectors;
  int barriers_begin = outer_bytes;
  int slabs_begin = (barriers_begin + 8 * tuning.warps * tuning.ring + 1023) / 1024 * 1024;
  int pregate_row = 2, postgate_row = pregate_row + item_rows;
  int slab_bytes = (gated ? postgate_row + item_rows : 2) * row_bytes;
  int shared_bytes = slabs_begin + tuning.warps * tuning.ring * slab_bytes;

  // The ring is refilled an item behind the stores where it has room for that, so that nobody waits for them.
  int lag = tuning.ring > 2 ? 1 : 0;

  // The rule that key and tuning break, or null. Kernels of those that break one are not compiled.
  constexpr const char* broken_rule() const {
    if (radix != 1 && radix != 2 && radix != 3 && radix != 4 && radix != 6 && radix != 8)
      return "radix: 1, 2, 3, 4, 6 or 8";
    if (tuning.ring < 2) return "ring: an item and the next one";
    if (slab_bytes % 1024 != 0) return "slab_bytes: slabs are swizzled by their addresses";
    if (key.fold == Fold::plain) return "fold: pair or right angle";
    if (filtered && (!gated || sparse)) return "filtered: of kernels that take gates";
    if (sparse && (!pair || gated)) return "sparse: of masks, which the pair fold has, and without gates";
    if (is_shared(tuning.spectrum)) return "spectrum: warps have channels of their own, shared memory holds none";
    return nullptr;
  }
};

}  // namespace danaus::chain
