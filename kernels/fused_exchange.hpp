// fused_exchange: y = v * conv(w * u, k) with one exchange through shared memory each way, N = 64 r x columns.
//
// source     FlashFFTConv's order-p convolution (Fu et al. 2023, algorithm 3) with radix-8 stages of one mma each
// index      n = columns n_hi + n_lo, k = k_hi + 64 r k_lo
//            n_hi = 64 nr + 8 n1 + n2 < 64 r, k_hi = kr + r (k1 + 8 k2). For r = 2, nr and n1 are one digit of 16
//            n_lo = 64 ns + 8 n3 + n4 < columns, ns < S = columns / 64 or 1; k_lo = ks + S (k3 + K3 k4),
//            K3 = min(columns, 64) / 8. For even S the lowest bit of ns and n3 are one digit of 16, and what was slab
//            2 i + j becomes ks = i + S / 2 j
// shapes     u, y, gates [B, H, L], L <= N; one block takes two batch rows (pair fold) or one row (right angle)
// types      storage f16 or bf16; f16 rounds every product of matrices to f16, bf16 accumulates a stage in f32
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
//            The spectrum of a block's channel is in registers, in shared memory, or read from L2 for every item
// gates      with tensor copies, through a ring of slabs of their own, in the order of their use: the pregate's of an
//            item, then the postgate's; otherwise each thread multiplies its part of the slabs
// order      where the ring has room, steps of neighbouring items stand between the same two barriers of the block
//            (Order in kernels/exchange/shape.hpp): fewer barriers, and warps that wait for different things
// resources  one unit of step A for each warp and pass
// error      bound_l2_of_roundings(dtype, roundings): kernels/variants.hpp
// reference  reference/convolution/convolve.hpp   test   tests/kernels/fused_test.cpp
#pragma once

#include "kernels/exchange/gate_ring.hpp"
#include "kernels/exchange/shape.hpp"
#include "kernels/exchange/steps.hpp"

namespace danaus::inline DANAUS_BACKEND {

namespace exchange {

// What follows a unit or a batch where nothing does.
struct Nothing {
  DANAUS_DEVICE void operator()(int) const {}
};

template <int threads>
struct BlockWorker {
  static constexpr int kThreads = threads;
  static DANAUS_DEVICE int index() { return device::thread_index(); }
};

// One block of the kernel. A slab's place in the ring is `place`; that of an item is the place of its first slab.
template <class P, Path path>
class Block {
 public:
  DANAUS_DEVICE explicit Block(const FusedArguments& a)
      : a_(a),
        tensor_(path == Path::any ? a.transfer == Transfer::tensor : path == Path::tensor),
        leader_(device::thread_index() == 0),
        warp_(device::warp_index()),
        items_(items_of_block<P>(a)),
        first_(item_at<P>(a, items_.first)),
        fetch_item_(first_),
        gates_(a, gates_by_tensor(), first_, items_.count) {}

  DANAUS_DEVICE void run() {
    prepare();
    if (!tensor_ || leader_) fetch_until(P::kRing);
    if (gates_by_tensor() && leader_) gates_.fetch();
    device::copy_async_commit();
    if constexpr (path == Path::threads || P::kOrder == Order::in_turn)
      run_in_turn();
    else if (path == Path::any && !tensor_)
      run_in_turn();
    else if constexpr (P::kOrder == Order::overlapped)
      run_overlapped();
    else
      run_pipelined();
    if (tensor_ && leader_) device::store_wait_read<0>();  // they read this block's shared memory
  }

 private:
  using Worker = BlockWorker<P::kThreads>;
  static constexpr int kVectors = P::kLinePairsAtOnce * P::kSlabs;  // of a spectrum, for one batch
  using Spectra = Words<4>[kVectors];
  static constexpr int kBatches = P::kLinePairsPerWarp / P::kLinePairsAtOnce;  // of lines in step B
  static constexpr int kHeldVectors = P::kSpectrumInRegisters ? P::kLinePairsPerWarp * P::kSlabs : 1;

  DANAUS_DEVICE bool gates_by_tensor() const { return P::kGateRing > 0 && tensor_; }
  DANAUS_DEVICE bool pregate() const { return gates_by_tensor() && a_.pregate; }
  DANAUS_DEVICE bool postgate() const { return gates_by_tensor() && a_.postgate; }
  DANAUS_DEVICE bool wraps() const { return !P::kPair && path != Path::tensor && a_.wrap; }  // only threads can

  // Barriers, constants.
  DANAUS_DEVICE void prepare() {
    if (leader_ && tensor_) {
      for (int i = 0; i < P::kRing; ++i) device::barrier_init(8 * i, 1);
      if constexpr (P::kGateRing > 0) GateRing<P>::init();
    }
    for (int i = device::thread_index(); i < P::kTableBytes / 16; i += P::kThreads)
      device::store_shared<16>(P::kTableBegin + 16 * i, device::load_global<16>(a_.tables + 128 * P::kTableAt + 4 * i));
    device::fence_async();
    device::sync_block();

    load_constants<P>(a_.tables, constants_);
    if constexpr (!P::kSeveralGroups) {
      DANAUS_UNROLL
      for (int i = 0; i < P::kBatchGroups; ++i) {
        const int vector = P::kGroupAt + 2 * (first_group() + i);
        groups_[i] = {load_matrix(a_.tables, vector), load_matrix(a_.tables, vector + 1)};
      }
    }
    if constexpr (P::kLinesInRegisters) {
      DANAUS_UNROLL
      for (int i = 0; i < P::kWarpLines; ++i) {
        DANAUS_UNROLL
        for (int v = 0; v < P::kLineVectors; ++v)
          lines_[i][v] = load_lane_words(a_.tables, P::kLineAt + (first_line() + i) * P::kLineVectors + v);
      }
    }
    if constexpr (P::kUnitInRegisters)
      there_ = load_unit<P>(a_.tables, warp_, false), back_ = load_unit<P>(a_.tables, warp_, true);
    device::let_next_grid_begin();
    device::wait_for_previous_grid();
  }

  // A warp's lines of step B: those from first_line() on of each group from first_group() on.
  DANAUS_DEVICE int first_line() const { return warp_ * P::kWarpLines % P::kGroupLines; }
  DANAUS_DEVICE int first_group() const { return warp_ * P::kWarpLines / P::kGroupLines * P::kWarpGroups; }
  // A batch's first group among the warp's, and its first pair among the warp's of that group, and among all pairs.
  static DANAUS_DEVICE constexpr int group_of(int batch) { return batch * P::kBatchPairs / (P::kWarpLines / 2); }
  static DANAUS_DEVICE constexpr int pair_in_group(int batch) { return batch * P::kBatchPairs % (P::kWarpLines / 2); }
  DANAUS_DEVICE int first_pair(int batch) const {
    if constexpr (P::kWarpGroups == 1)
      return warp_ * P::kLinePairsPerWarp + batch * P::kLinePairsAtOnce;
    else
      return ((first_group() + group_of(batch)) * P::kGroupLines + first_line()) / 2 + pair_in_group(batch);
  }
  // The vector of a spectrum that belongs to slab i mod S of a batch's pair i / S.
  DANAUS_DEVICE int spectrum_vector(int batch, int i) const {
    const int pair = i / P::kSlabs, group = pair / P::kBatchPairs;
    return (first_pair(batch) + group * P::kGroupLines / 2 + pair % P::kBatchPairs) * P::kSlabs + i % P::kSlabs;
  }

  static DANAUS_DEVICE bool is_beyond_end(int place, int slab) {
    return P::kRing % P::kSlabs != 0 && place + slab >= P::kRing;
  }
  static DANAUS_DEVICE int place_of(int place, int slab) {
    return is_beyond_end(place, slab) ? place + slab - P::kRing : place + slab;
  }
  static DANAUS_DEVICE SharedAddress address_of(int place) { return P::kSlabsBegin + place * P::kPlaceBytes; }
  static DANAUS_DEVICE SharedAddress slab_at(int place, int slab) { return address_of(place_of(place, slab)); }
  // Row 0 or 1 of a slab: of the right angle, real or imaginary.
  static DANAUS_DEVICE SharedAddress row_at(int place, int slab, int row) {
    if constexpr (P::kApart)
      return row == 1 ? P::kImaginaryBegin + slab * P::kRowBytes : slab_at(place, slab);
    else
      return slab_at(place, slab) + row * P::kRowBytes;
  }
  static DANAUS_DEVICE Column<P> column_of(int place, int unit) {
    const int slab = unit / P::kColumnChunks;
    return Column<P>(row_at(place, slab, 0), row_at(place, slab, 1), unit % P::kColumnChunks);
  }
  DANAUS_DEVICE void wait_for_slab(int place, u32 parity, int slab) const {
    if (tensor_) device::barrier_wait(8 * place_of(place, slab), parity ^ is_beyond_end(place, slab));
  }

  // Asks for slabs until `limit` of all that this block computes are there or on their way.
  DANAUS_DEVICE void fetch_until(int limit) {
    limit = min(limit, items_.count * P::kSlabs);
    DANAUS_UNROLL_BY(P::kFetchesAtOnce)
    for (; fetched_ < limit; ++fetched_) {
      const SharedAddress barrier = 8 * fetch_place_;
      if (tensor_) device::barrier_expect(barrier, P::kLoadBytes);
      fetch_slab<P, Worker>(a_, tensor_, a_.u_map, a_.u, fetch_item_, fetch_slab_, address_of(fetch_place_), barrier);
      if (++fetch_place_ == P::kRing) fetch_place_ = 0;
      if (++fetch_slab_ == P::kSlabs) fetch_slab_ = 0, advance<P>(a_, fetch_item_);
    }
  }

  // Places of slabs are free once their stores have been read; the last `pending` of those that were issued may not be.
  // `freed` slabs are then done with.
  template <int pending = 0>
  DANAUS_DEVICE void refill(int freed) {
    if (tensor_ && !leader_) return;
    if (tensor_) device::store_wait_read<pending>();
    fetch_until(freed + P::kRing);
    // With tensor copies it does nothing, but without it the compiler spills (16K causal: 14 registers).
    device::copy_async_commit();
  }

  DANAUS_DEVICE void release_gates(int slabs) {
    gates_.release(slabs);
    if (leader_) gates_.fetch();
  }

  DANAUS_DEVICE void store_slabs(Item item, int place, int first, int last) const {
    if (tensor_ && !leader_) return;
    for (int s = first; s < last; ++s) store_slab<P, Worker>(a_, tensor_, item, s, slab_at(place, s));
  }

  // A gate that threads apply; `ready` returns when the item's slabs are.
  template <class Ready>
  DANAUS_DEVICE void gate_item(const void* gate, Item item, int place, Ready ready) const {
    gate_slabs<P, Worker>(
        a_, tensor_, gate, item, [&](int s) { return slab_at(place, s); }, ready);
  }

  // Calls visit(j) for each of this warp's units of step A.
  template <class Visit>
  static DANAUS_DEVICE void for_each_unit(Visit visit) {
    if constexpr (P::kUnitsRolled) {
      DANAUS_UNROLL_BY(1)
      for (int j = 0; j < P::kUnitsPerWarp; ++j) visit(j);
    } else {
      DANAUS_UNROLL
      for (int j = 0; j < P::kUnitsPerWarp; ++j) visit(j);
    }
  }

  // Step A, calling after(j) when this warp's unit j is done.
  template <class After>
  DANAUS_DEVICE void transform(int place, u32 parity, After after) {
    for_each_unit([&](int j) {
      const int unit = warp_ + P::kWarps * j, s = unit / P::kColumnChunks;
      wait_for_slab(place, parity, s);
      if constexpr (!P::kUnitInRegisters) there_ = load_unit<P>(a_.tables, unit, false);
      transform_column<P>(column_of(place, unit), {pregate(), pregate() ? gates_.wait(s) : 0}, unit, constants_,
                          there_);
      after(j);
    });
  }

  template <class After>
  DANAUS_DEVICE void transform_back(int place, After after) {
    for_each_unit([&](int j) {
      const int unit = warp_ + P::kWarps * j, s = unit / P::kColumnChunks;
      if constexpr (!P::kUnitInRegisters) back_ = load_unit<P>(a_.tables, unit, true);
      transform_column_back<P>(column_of(place, unit), {postgate(), postgate() ? gates_.wait(s) : 0}, unit, wraps(),
                               constants_, back_);
      after(j);
    });
  }

  // Spectra of one batch of this warp's lines, all of which registers hold where they can.
  DANAUS_DEVICE void hold_spectrum(int channel) {
    if (!(P::kSpectrumInRegisters || P::kSpectrumInShared) || channel == held_channel_) return;
    held_channel_ = channel;
    if constexpr (P::kSpectrumInShared) {
      DANAUS_UNROLL
      for (int batch = 0; batch < kBatches; ++batch) {
        DANAUS_UNROLL
        for (int i = 0; i < kVectors; ++i) {
          const int vector = spectrum_vector(batch, i);
          device::store_shared<16>(spectrum_at(vector), load_spectrum<P::kCache>(spectrum_of(channel), vector));
        }
      }
    } else {
      DANAUS_UNROLL
      for (int i = 0; i < kHeldVectors; ++i)
        held_[i] = load_spectrum<P::kCache>(spectrum_of(channel), spectrum_vector(i / kVectors, i % kVectors));
    }
  }
  DANAUS_DEVICE void load_spectra(int channel, int batch, Spectra& spectra) const {
    DANAUS_UNROLL
    for (int i = 0; i < kVectors; ++i) {
      if constexpr (P::kSpectrumInRegisters)
        spectra[i] = held_[batch * kVectors + i];
      else if constexpr (P::kSpectrumInShared)
        spectra[i] = device::load_shared<16>(spectrum_at(spectrum_vector(batch, i)));
      else
        spectra[i] = load_spectrum<P::kCache>(spectrum_of(channel), spectrum_vector(batch, i));
    }
  }
  static DANAUS_DEVICE SharedAddress spectrum_at(int vector) {
    return P::kSpectrumBegin + 512 * vector + 16 * device::lane_index();
  }
  DANAUS_DEVICE const u32* spectrum_of(int channel) const {
    return a_.spectrum + static_cast<long long>(channel) * P::kSize;
  }

  DANAUS_DEVICE LineTwiddles<P> twiddles_of(int line) const {  // of this warp's lines
    if constexpr (P::kLinesInRegisters) {
      return LineTwiddles<P>(lines_[line]);
    } else {
      Words<4> w[P::kLineVectors];
      DANAUS_UNROLL
      for (int v = 0; v < P::kLineVectors; ++v) w[v] = from_table((first_line() + line) * P::kLineVectors + v);
      return LineTwiddles<P>(w);
    }
  }
  DANAUS_DEVICE void load_groups(int batch) {
    if constexpr (P::kSeveralGroups) {
      const int vector = 2 * (first_group() + group_of(batch));
      groups_[0] = {matrix_of(from_table(vector)), matrix_of(from_table(vector + 1))};
    }
  }
  DANAUS_DEVICE Words<4> from_table(int vector) const {
    if constexpr (P::kTableInShared)
      return device::load_shared<16>(P::kTableBegin + 512 * vector + 16 * device::lane_index());
    else
      return load_lane_words(a_.tables, P::kTableAt + vector);
  }

  // Step B, calling after(batch) when a batch of lines is done. Spectra are asked for a batch ahead, the first by the
  // caller.
  template <class After>
  DANAUS_DEVICE void convolve(int place, int channel, Spectra& ahead, After after) {
    DANAUS_UNROLL
    for (int batch = 0; batch < kBatches; ++batch) {
      Spectra spectra;
      DANAUS_UNROLL
      for (int i = 0; i < kVectors; ++i) spectra[i] = ahead[i];
      if (batch + 1 < kBatches) load_spectra(channel, batch + 1, ahead);
      load_groups(batch);
      convolve_lines<P>([&](int s, int row) { return row_at(place, s, row); }, first_pair(batch), constants_, groups_,
                        spectra, [&](int line) { return twiddles_of(2 * pair_in_group(batch) + line); });
      after(batch);
    }
  }

  DANAUS_DEVICE void run_in_turn() {
    constexpr bool kRefillBetween = P::kStoresAnItem > 1 && P::kRing < P::kSlabs + P::kSlabs / P::kStoresAnItem;
    Item item = first_;
    int place = 0;
    u32 parity = 0;
    for (int number = 0; number < items_.count; ++number) {
      const int done = number * P::kSlabs;
      if (!tensor_) {
        device::copy_async_wait<0>();
        device::sync_block();
      }
      hold_spectrum(item.channel);
      if constexpr (P::kStoresAnItem > 1) {
        constexpr int kLast = P::kSlabs / P::kStoresAnItem;  // slabs of the last store of an item
        if (tensor_) refill<kLast>(done - kLast);
      }
      if constexpr (P::kRefillFirst) refill(done);
      if (P::kGated && a_.pregate && !gates_by_tensor()) {
        gate_item(a_.pregate, item, place, [&] {
          DANAUS_UNROLL
          for (int s = 0; s < P::kSlabs; ++s) wait_for_slab(place, parity, s);
        });
        device::sync_block();
      }
      transform(place, parity, [&](int j) {
        if (j == 0 && P::kStoresAnItem == 1 && !P::kRefillFirst)
          refill<P::kLag * P::kSlabs>(done - P::kLag * P::kSlabs);
        if (j == 0 && kRefillBetween) refill(done);
        if (P::kGateGroups > 1 && pregate()) {
          device::sync_block();
          release_gates(P::kSlabs / P::kGateGroups);
        }
      });
      if constexpr (P::kStoresAnItem > 1 && !kRefillBetween) refill(done);
      Spectra ahead;
      load_spectra(item.channel, 0, ahead);
      device::sync_block();
      if (pregate()) {
        if constexpr (P::kGateGroups == 1) release_gates(P::kSlabs);
        gates_.turn();
      }
      convolve(place, item.channel, ahead, Nothing());
      device::sync_block();
      transform_back(place, [&](int j) {
        constexpr int kEvery = P::kUnitsPerWarp / P::kStoresAnItem, kSlabsEvery = P::kSlabs / P::kStoresAnItem;
        if (!tensor_ || j % kEvery != kEvery - 1) return;
        if (P::kGated && a_.postgate && !gates_by_tensor())
          gate_item(a_.postgate, item, place, [] { device::sync_block(); });
        device::fence_async();
        device::sync_block();
        if (postgate()) release_gates(kSlabsEvery);
        store_slabs(item, place, j / kEvery * kSlabsEvery, (j / kEvery + 1) * kSlabsEvery);
      });
      if (!tensor_) store_by_threads(item, place);
      if (postgate()) gates_.turn();
      advance<P>(a_, item);
      place += P::kSlabs;
      if (place >= P::kRing) place -= P::kRing, parity ^= 1;
    }
  }

  DANAUS_DEVICE void store_by_threads(Item item, int place) const {
    if (P::kGated && a_.postgate && !wraps()) gate_item(a_.postgate, item, place, [] { device::sync_block(); });
    device::sync_block();
    if (wraps())
      store_wrapped<P, Worker, P::kType>(a_, item, [&](int s, int row) { return row_at(place, s, row); });
    else
      store_slabs(item, place, 0, P::kSlabs);
    device::sync_block();
  }

  // Tensor copies only.
  DANAUS_DEVICE void run_overlapped() {
    Item item = first_, before = first_;
    int place = 0, place_before = 0;
    u32 parity = 0;
    for (int number = 0; number <= items_.count; ++number) {
      const bool begins = number < items_.count;
      const bool ends = number > 0;
      if (ends) {
        transform_back(place_before, Nothing());
        if (postgate()) gates_.turn();
        device::fence_async();
        if constexpr (!P::kRefillsLate) refill((number - 1) * P::kSlabs);
      }
      Spectra ahead;
      if (begins) {
        transform(place, parity, Nothing());
        if (pregate()) gates_.turn();
        hold_spectrum(item.channel);
        load_spectra(item.channel, 0, ahead);
      }
      device::sync_block();
      if (pregate() && begins) release_gates(P::kSlabs);
      if (postgate() && ends) release_gates(P::kSlabs);
      if (ends) store_slabs(before, place_before, 0, P::kSlabs);
      if (begins)
        convolve(place, item.channel, ahead, [&](int batch) {
          if (P::kRefillsLate && batch == min(1, kBatches - 1)) refill(number * P::kSlabs);
        });
      device::sync_block();
      before = item, place_before = place;
      advance<P>(a_, item);
      place += P::kSlabs;
      if (place >= P::kRing) place -= P::kRing, parity ^= 1;
    }
  }

  // Tensor copies only, no gates. In each round one item begins, the one before it is convolved, and the one before
  // that ends.
  DANAUS_DEVICE void run_pipelined() {
    Item middle = first_, last = first_;
    int place = 0, middle_place = 0, last_place = 0;  // of the item that begins, and of the others
    u32 parity = 0;
    for (int round = 0; round < items_.count + 2; ++round) {
      if (round < items_.count) transform(place, parity, Nothing());
      refill(max(round - 2, 0) * P::kSlabs);
      if (round >= 1 && round <= items_.count) {
        Spectra ahead;
        hold_spectrum(middle.channel);
        load_spectra(middle.channel, 0, ahead);
        convolve(middle_place, middle.channel, ahead, Nothing());
        advance<P>(a_, middle);
      }
      if (round >= 2) {
        transform_back(last_place, Nothing());
        device::fence_async();
      }
      device::sync_block();
      if (round >= 2) {
        store_slabs(last, last_place, 0, P::kSlabs);
        advance<P>(a_, last);
      }
      last_place = middle_place, middle_place = place;
      place += P::kSlabs;
      if (place >= P::kRing) place -= P::kRing, parity ^= 1;
    }
  }

  const FusedArguments& a_;
  const bool tensor_, leader_;  // the leader issues the tensor copies
  const int warp_;
  const ItemRange items_;
  const Item first_;
  Constants<P> constants_;
  UnitConstants<P> there_, back_;          // of a warp's only unit, or of the one at hand
  GroupMatrices groups_[P::kBatchGroups];  // of the batch's groups
  Words<4> lines_[P::kLinesInRegisters ? P::kWarpLines : 1][P::kLineVectors];
  Words<4> held_[kHeldVectors];
  int held_channel_ = -1;
  int fetched_ = 0, fetch_place_ = 0, fetch_slab_ = 0;  // slabs that have been asked for; place and number of the next
  Item fetch_item_;
  GateRing<P> gates_;
};

}  // namespace exchange

template <class P, Path path = Path::any>
DANAUS_DEVICE void fused_exchange(const FusedArguments& a) {
  exchange::Block<P, path>(a).run();
}

}  // namespace danaus::inline DANAUS_BACKEND
