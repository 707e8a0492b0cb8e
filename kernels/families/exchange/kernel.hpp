// exchange: y = v * conv(w * u, k) with one exchange through shared memory each way, N = 64 r x columns.
//
// source     FlashFFTConv's order-p convolution (Fu et al. 2023, algorithm 3) with radix-8 stages of one mma each
// index      n = columns n_hi + n_lo, k = k_hi + 64 r k_lo
//            n_hi = 64 nr + 8 n1 + n2 < 64 r, k_hi = kr + r (k1 + 8 k2). For r = 2, nr and n1 are one digit of 16
//            n_lo = 64 ns + 8 n3 + n4 < columns, ns < S = columns / 64 or 1; k_lo = ks + S (k3 + K3 k4),
//            K3 = min(columns, 64) / 8. For even S the lowest bit of ns and n3 are one digit of 16, and what was slab
//            2 i + j becomes ks = i + S / 2 j
// shapes     u, y, gates [B, H, L], L <= N; one block takes two batch rows (pair fold) or one row (right angle, plain)
// types      samples f16 or bf16; arithmetic f16, which rounds every product of matrices; bf16 samples become f16 by
//            powers of two, one for each unit of step A, which step B makes those of the item (tile/scaled.hpp)
// range      a first walk over a block's items notes those whose energies a transform has no room for, or of whose rows
//            one is much quieter in some unit (tile/range.hpp); a second one computes these with a power of two for
//            each row, unless exact sums say that the first one was right
// scaling    unitary up to a power of two; the power is in the DFT matrices and twiddles, the rest in the spectrum
// steps      A  one 16-byte column of samples (8 n4) over all 64 r rows a unit: DFT over (nr,) n1 | twiddle | DFT8 n2 |
//               in place
//            B  one row of columns a unit: DFT over (ns,) n3 | twiddle | DFT over n4 | spectrum | and back
//            A  back
// split      the twiddle between A and B, w_N^(n_lo k_hi) with n_lo = 8 unit + n4, is separable. Its part in 8 unit is
//            folded into the inner twiddle and the second matrix of step A, which each unit has its own of; its part in
//            n4 into the twiddle of step B, of which each line has its own, and its matrix over n4, of which each group
//            of 8 r lines has
// memory     a slab holds 64 columns of both rows; line nr 8 + n1 + 8 r n2 (128 bytes), its 16-byte chunk c swizzled.
//            After step A, k2 stands where n1 was and k1 where n2 was, so that every step works in place
//            The spectrum of a block's channel is in registers, or in shared memory (by a bulk copy: while the item
//            before is on its way back), or read from L2 for every item
// half       of a real row's spectrum (plain fold) one half of the lines is computed, y is twice the real part
// sparse     of a masked spectrum a channel keeps live pieces (product/slots.hpp), and so does shared memory. Of
//            batches of lines without a live frequency step B makes zeros, and does no more. Step A is as ever: leaving
//            out rows took it more instructions, of branches and masks, than it saved (16K, B=8: 23 % in all)
// gates      where samples are read and written: gates.hpp
// order      where the ring has room, steps of neighbouring items stand between the same two barriers of the block
//            (Order in layout.hpp): fewer barriers, and warps that wait for different things
// resources  layout.hpp
// error      bound_l2_of_kernel(case, Family::roundings(layout))
// reference  reference/convolution/convolve.hpp   test   tests/kernels/families_test.cpp
#pragma once

#include "kernels/families/exchange/block.hpp"

namespace danaus::exchange::inline DANAUS_BACKEND {

// Of the class of a block: what comes after the first walk.
template <class Block>
DANAUS_CALLED void finish(const typename Block::Arguments& a, NotedItems noted) {
  Block(a).finish(noted);
}

// One block of the kernel: its steps, in an order.
template <class P, Path path>
class Block : BlockSteps<P, path> {
 public:
  using Base = BlockSteps<P, path>;
  using Base::Base, Base::finish;
  using typename Base::Arguments;

  DANAUS_DEVICE void run() {
    prepare();
    if (!in_bulk() || leader_) fetch_until(layout.tuning.ring);
    if (gates_in_ring() && leader_) gates_.fetch();
    if (items_.count > 0) copy_spectrum(first_.channel);
    device::copy_async_commit();
    if constexpr (path == Path::threads || path == Path::any)
      if (path_ == Path::threads) run_by_threads();
    if constexpr (path != Path::threads) {
      if (path == Path::any && !in_bulk()) return finish_items();
      switch (layout.tuning.order) {
        case Order::in_turn: run_in_turn(); break;
        case Order::slab_by_slab: run_slab_by_slab(); break;
        case Order::overlapped:
        case Order::overlapped_late: run_overlapped(); break;
      }
      if (leader_) device::store_wait_read<0>();  // they read this block's shared memory
    }
    finish_items();
  }

 private:
  static constexpr Layout layout = P::layout;
  using Base::a_, Base::path_, Base::leader_, Base::items_, Base::first_, Base::gates_, Base::noted_, Base::in_bulk,
      Base::gates_in_ring, Base::pregate, Base::postgate, Base::prepare, Base::kSlabsStored, Base::slab_at, Base::step,
      Base::fetch_until, Base::refill, Base::release_gates, Base::store_slabs, Base::transform, Base::transform_back,
      Base::copy_spectrum, Base::copy_next_spectrum, Base::wait_for_spectrum, Base::hold_spectrum, Base::load_spectra,
      Base::convolve, Base::release_pregate_of_unit, Base::release_pregate;
  using typename Base::Spectra, typename Base::Worker;

  // Called, not inlined: what it needs of the block would stay in registers all along.
  DANAUS_DEVICE void finish_items() const {
    if (a_.rows_apart) exchange::finish<Block>(a_, noted_);
  }

  // A(n) | B(n) | A back(n) |
  DANAUS_DEVICE void run_in_turn() {
    Item item = first_;
    int place = 0;
    u32 parity = 0;
    for (int number = 0; number < items_.count; ++number) {
      hold_spectrum(item.channel);
      transform(item, number, place, parity, [&](int j) {
        if (j == 0) this->template refill<layout.lag * layout.slabs>((number - layout.lag) * layout.slabs);
        release_pregate_of_unit();
      });
      Spectra ahead;
      wait_for_spectrum(item.channel);
      load_spectra(item.channel, 0, ahead);
      device::sync_block();
      release_pregate();
      convolve(number, place, item.channel, ahead, Nothing());
      device::sync_block();
      copy_next_spectrum(item, number);
      transform_back(item, place, Nothing());
      device::fence_async();
      device::sync_block();
      if (postgate() && gates_in_ring()) release_gates(layout.slabs), gates_.turn();
      store_slabs(item, place, 0, layout.slabs);
      advance<P>(a_, item);
      step(place, parity);
    }
  }

  // The same with a ring that has not room for two items: slabs are stored as they are done, some at a time.
  DANAUS_DEVICE void run_slab_by_slab() {
    constexpr int kUnits = layout.units_per_warp / layout.tuning.stores;  // of a warp, between two stores
    Item item = first_;
    int place = 0;
    u32 parity = 0;
    for (int number = 0; number < items_.count; ++number) {
      const int done = number * layout.slabs;
      hold_spectrum(item.channel);
      this->template refill<kSlabsStored>(done - kSlabsStored);
      transform(item, number, place, parity, [&](int j) {
        if (j == 0 && layout.refills_between) refill(done);
        release_pregate_of_unit();
      });
      if constexpr (!layout.refills_between) refill(done);
      Spectra ahead;
      wait_for_spectrum(item.channel);
      load_spectra(item.channel, 0, ahead);
      device::sync_block();
      release_pregate();
      convolve(number, place, item.channel, ahead, Nothing());
      device::sync_block();
      copy_next_spectrum(item, number);
      transform_back(item, place, [&](int j) {
        if (j % kUnits != kUnits - 1) return;
        device::fence_async();
        device::sync_block();
        if (postgate() && gates_in_ring()) release_gates(kSlabsStored);
        store_slabs(item, place, j / kUnits * kSlabsStored, (j / kUnits + 1) * kSlabsStored);
      });
      if (postgate() && gates_in_ring()) gates_.turn();
      advance<P>(a_, item);
      step(place, parity);
    }
  }

  // A back(n - 1), A(n) | B(n) |
  DANAUS_DEVICE void run_overlapped() {
    constexpr bool kLate = layout.tuning.order == Order::overlapped_late;
    Item item = first_, before = first_;
    int place = 0, place_before = 0;
    u32 parity = 0;
    for (int number = 0; number <= items_.count; ++number) {
      const bool begins = number < items_.count;
      const bool ends = number > 0;
      if (ends) {
        transform_back(before, place_before, Nothing());
        if (postgate() && gates_in_ring()) gates_.turn();
        device::fence_async();
        if constexpr (!kLate) refill((number - 1) * layout.slabs);
      }
      Spectra ahead;
      if (begins) {
        transform(item, number, place, parity, Nothing());
        if (pregate() && gates_in_ring()) gates_.turn();
        hold_spectrum(item.channel);
        wait_for_spectrum(item.channel);
        load_spectra(item.channel, 0, ahead);
      }
      device::sync_block();
      if (pregate() && gates_in_ring() && begins) release_gates(layout.slabs);
      if (postgate() && gates_in_ring() && ends) release_gates(layout.slabs);
      if (ends) store_slabs(before, place_before, 0, layout.slabs);
      if (begins)
        convolve(number, place, item.channel, ahead, [&](int batch) {
          if (kLate && batch == min(1, layout.batches - 1)) refill(number * layout.slabs);
        });
      device::sync_block();
      if (begins) copy_next_spectrum(item, number);
      before = item, place_before = place;
      advance<P>(a_, item);
      step(place, parity);
    }
  }

  // In turn, for rows that no tensor copy moves.
  DANAUS_DEVICE void run_by_threads() {
    Item item = first_;
    int place = 0;
    u32 parity = 0;
    for (int number = 0; number < items_.count; ++number) {
      device::copy_async_wait<0>();
      device::sync_block();
      hold_spectrum(item.channel);
      transform(item, number, place, parity, [&](int j) {
        if (j == 0) refill((number - layout.lag) * layout.slabs);
      });
      Spectra ahead;
      load_spectra(item.channel, 0, ahead);
      device::sync_block();
      convolve(number, place, item.channel, ahead, Nothing());
      device::sync_block();
      transform_back(item, place, Nothing());
      device::sync_block();
      for (int s = 0; s < layout.slabs; ++s) store_slab_by_threads<P, Worker>(a_, item, s, slab_at(place, s));
      device::sync_block();
      advance<P>(a_, item);
      step(place, parity);
    }
  }
};

template <class P, Path path>
DANAUS_DEVICE void run(const typename P::Arguments& a) {
  Block<P, path>(a).run();
}

}  // namespace danaus::exchange::inline DANAUS_BACKEND
