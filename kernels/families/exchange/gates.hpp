// Gates: each sample of u meets the pregate's as it is read, each of y the postgate's as it is written. Their rows come
// through a ring of slabs of their own, filled by tensor copies in the order of their use, the pregate's of an item,
// then the postgate's; or, where there is no ring, straight from global memory.
#pragma once

#include "kernels/families/exchange/layout.hpp"
#include "kernels/memory/column.hpp"
#include "kernels/tile/scaled.hpp"

namespace danaus::exchange::inline DANAUS_BACKEND {

// The part of a gate that belongs to one unit of one item.
template <class P>
struct Gate {
  bool present, in_ring;
  Path path;
  SharedAddress slab_begin;  // in the ring
  Column<P> slab;            // there
  const void* rows;          // in global memory, at these strides
  RowStrides strides;
  Item item;
  int unit;

  DANAUS_DEVICE Words<4> words(const ConvolutionArguments& a, int row, int nr, int b) const {
    if (in_ring) return slab.words(row, nr, b);
    const int n = Column<P>::sample(unit, nr, b);
    const RowPlace from = row_place(a, strides, path, item, row);
    if (item.row + row >= a.batch || n >= from.last) return {};
    return load_chunk(rows, from, n, a.transfer);
  }
};

// Results as samples of y, by a gate or without one.
template <class P>
DANAUS_DEVICE Words<4> samples_of(Words<4> results, float factor) {
  DANAUS_UNROLL
  for (int i = 0; i < 4; ++i) results[i] = scaled::samples_of<P::layout.dtype>(results[i], factor);
  return results;
}
template <class P>
DANAUS_DEVICE Words<4> samples_of(Words<4> results, float factor, Words<4> gate) {
  DANAUS_UNROLL
  for (int i = 0; i < 4; ++i) results[i] = scaled::samples_of<P::layout.dtype>(results[i], factor, gate[i]);
  return results;
}

// column.store() of results as samples of y.
template <class P>
DANAUS_DEVICE void store_samples(const Column<P>& column, const Gate<P>& gate, const ConvolutionArguments& a, int row,
                                 int nr, float factor, const u32 (&tiles)[8]) {
  Words<4> words[2];
  column.pack(tiles, words[0], words[1]);
  DANAUS_UNROLL
  for (int b = 0; b < 2; ++b)
    words[b] = P::layout.gated && gate.present ? samples_of<P>(words[b], factor, gate.words(a, row, nr, b))
                                               : samples_of<P>(words[b], factor);
  column.keep(row, nr, words[0], words[1]);
}

// The ring of gates.
template <class P>
class GateRing {
 public:
  DANAUS_DEVICE GateRing(const ConvolutionArguments& a, Path path, bool in_use, bool postgate, Item first, int items)
      : a_(a),
        path_(path),
        has_post_(postgate),
        item_(first),
        post_(!a.pregate),
        total_(in_use ? P::layout.slabs * items * ((a.pregate != nullptr) + postgate) : 0) {}

  DANAUS_DEVICE static void init() {
    for (int i = 0; i < kPlaces; ++i) device::barrier_init(barrier(i), 1);
  }
  // For the thread that issues the copies: fills the places that are free.
  DANAUS_DEVICE void fetch() {
    DANAUS_UNROLL_BY(P::layout.tuning.fetches)
    for (; fetched_ < min(total_, used_ + kPlaces); ++fetched_) {
      device::barrier_expect(barrier(place_), P::layout.load_bytes);
      copy_slab<P>(a_, path_, post_ ? a_.postgate_map : a_.pregate_map, post_ ? a_.postgate_line : a_.pregate_line,
                   item_, slab_, address(place_), barrier(place_));
      if (++place_ == kPlaces) place_ = 0;
      if (++slab_ < P::layout.slabs) continue;
      slab_ = 0;
      if (post_ || !has_post_) advance<P>(a_, item_);
      post_ = !post_ ? has_post_ : !a_.pregate;
    }
  }
  // Slab s of the gate whose turn it is, when it has come.
  DANAUS_DEVICE SharedAddress wait(int s) const {
    int place = next_ + s;
    u32 parity = parity_;
    DANAUS_UNROLL
    for (int i = 0; i < kTurns; ++i)
      if (place >= kPlaces) place -= kPlaces, parity ^= 1;
    device::barrier_wait(barrier(place), parity);
    return address(place);
  }
  // Where slab s of that gate is, whose first one is at the place first().
  DANAUS_DEVICE int first() const { return next_; }
  static DANAUS_DEVICE SharedAddress at(int first, int s) {
    int place = first + s;
    DANAUS_UNROLL
    for (int i = 0; i < kTurns; ++i)
      if (place >= kPlaces) place -= kPlaces;
    return address(place);
  }
  // `slabs` more are no longer needed, by any thread of the block.
  DANAUS_DEVICE void release(int slabs) { used_ += slabs; }
  // The gate's turn is over.
  DANAUS_DEVICE void turn() {
    next_ += P::layout.slabs;
    DANAUS_UNROLL
    for (int i = 0; i < kTurns; ++i)
      if (next_ >= kPlaces) next_ -= kPlaces, parity_ ^= 1;
  }

 private:
  static constexpr int kPlaces = P::layout.tuning.gate_ring > 0 ? P::layout.tuning.gate_ring : 1;
  static constexpr int kTurns = (P::layout.slabs + kPlaces - 1) / kPlaces;  // of the ring, at most, for one gate
  static DANAUS_DEVICE SharedAddress barrier(int place) { return 8 * (P::layout.tuning.ring + place); }
  static DANAUS_DEVICE SharedAddress address(int place) { return P::layout.gates_begin + place * P::layout.load_bytes; }

  const ConvolutionArguments& a_;
  const Path path_;
  const bool has_post_;
  Item item_;  // whose slab is fetched next,
  bool post_;  // of which gate
  int slab_ = 0, place_ = 0;
  int total_, fetched_ = 0, used_ = 0;  // slabs of all items
  int next_ = 0;                        // place of the slab that is used next
  u32 parity_ = 0;
};

}  // namespace danaus::exchange::inline DANAUS_BACKEND
