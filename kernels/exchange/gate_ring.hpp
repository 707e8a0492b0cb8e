// The slabs of gates on their way through shared memory.
#pragma once

#include "kernels/exchange/shape.hpp"

namespace danaus::inline DANAUS_BACKEND {

namespace exchange {

// The ring of gates.
template <class P>
class GateRing {
 public:
  DANAUS_DEVICE GateRing(const FusedArguments& a, bool tensor, Item first, int items)
      : a_(a),
        item_(first),
        post_(!a.pregate),
        total_(tensor ? P::kSlabs * items * ((a.pregate != nullptr) + (a.postgate != nullptr)) : 0) {}

  DANAUS_DEVICE static void init() {
    for (int i = 0; i < kPlaces; ++i) device::barrier_init(barrier(i), 1);
  }
  // For the thread that issues the copies: fills the places that are free.
  DANAUS_DEVICE void fetch() {
    DANAUS_UNROLL_BY(P::kFetchesAtOnce)
    for (; fetched_ < min(total_, used_ + kPlaces); ++fetched_) {
      device::barrier_expect(barrier(place_), P::kLoadBytes);
      int at[5];
      P::tensor_at(item_, slab_, at);
      device::tensor_load(address(place_), post_ ? a_.postgate_map : a_.pregate_map, at, barrier(place_), P::kCache);
      if (++place_ == kPlaces) place_ = 0;
      if (++slab_ < P::kSlabs) continue;
      slab_ = 0;
      if (post_ || !a_.postgate) advance<P>(a_, item_);
      post_ = !post_ ? a_.postgate != nullptr : !a_.pregate;
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
  // `slabs` more are no longer needed, by any thread of the block.
  DANAUS_DEVICE void release(int slabs) { used_ += slabs; }
  // The gate's turn is over.
  DANAUS_DEVICE void turn() {
    next_ += P::kSlabs;
    DANAUS_UNROLL
    for (int i = 0; i < kTurns; ++i)
      if (next_ >= kPlaces) next_ -= kPlaces, parity_ ^= 1;
  }

 private:
  static constexpr int kPlaces = P::kGateRing > 0 ? P::kGateRing : 1;
  static constexpr int kTurns = (P::kSlabs + kPlaces - 1) / kPlaces;  // of the ring, at most, for one gate
  static DANAUS_DEVICE SharedAddress barrier(int place) { return 8 * (P::kRing + place); }
  static DANAUS_DEVICE SharedAddress address(int place) { return P::kGatesBegin + place * P::kLoadBytes; }

  const FusedArguments& a_;
  Item item_;  // whose slab is fetched next,
  bool post_;  // of which gate
  int slab_ = 0, place_ = 0;
  int total_, fetched_ = 0, used_ = 0;  // slabs of all items
  int next_ = 0;                        // place of the slab that is used next
  u32 parity_ = 0;
};

}  // namespace exchange
}  // namespace danaus::inline DANAUS_BACKEND
