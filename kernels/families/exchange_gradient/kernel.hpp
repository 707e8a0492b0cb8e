// exchange_gradient: the sums over a channel's rows of conj(U) dY, of which the filter's gradient is the inverse
// transform; N = 64 r x columns.
//
// source     exchange/kernel.hpp, steps A and B up to where the spectrum would come
// index      the exchange's; the sums stand where sum_index() says
// shapes     u, dy, gates [B, H, L], L <= N; one block takes a part of a channel's items, and of each two batch rows
//            (pair fold) or one row (right angle)
// shares     where one block's registers have no room for the sums of all frequencies, the blocks of a cluster share
//            an item: each reads and transforms the columns of its own slabs (step A), writes what it makes from k1 =
//            8 i / shares on to block i, and goes on with the lines that it is given (step B). Each block has barriers
//            for what its own threads have written of its lines and read of them, and others on which the bytes of
//            other blocks arrive and these say that they have read theirs: a barrier of the cluster, for which writes
//            elsewhere must have ended, took a third of the time
// ahead      of what step A makes there may be room for two items. Then step A of one comes before step B of the one
//            before, whose lines arrive meanwhile, and where blocks share items no barrier of the block is left: warps
//            say of each place of the ring that they have read it
// gates      bulk copies bring their slabs through the same ring, each behind its array's; where threads copy, they
//            multiply
// all        the gradients of rows are convolutions of what is transformed here anyway: of v dy with the conjugate
//            spectrum, and of w u with the spectrum if there is a postgate. Steps B and A back leave them where step A
//            put what they are made of, and threads store them times the gates (memory/gradients.hpp), which stay in
//            the ring until then if it has room for them. So four arrays are read and three written, where kernels for
//            one gradient each read 13 and write three
// fold       of a pair the cross terms of its rows are imaginary after the inverse transform, so the real part of that
//            is the sum over both
// types      samples f16 or bf16; arithmetic f16, of bf16 scaled as in the exchange; sums fp32
// scaling    that of two transforms, spectrum_scale() times N
// order      a block's items, then the parts: fixed by the shapes and the device, so that results repeat bit by bit
// error      roundings of one way for U and dY each, and of their sums: Family::roundings()
// reference  reference/convolution/gradient.hpp   test   tests/kernels/backward_test.cpp
#pragma once

#include "kernels/families/exchange/kernel.hpp"
#include "kernels/families/exchange_gradient/layout.hpp"
#include "kernels/memory/energies.hpp"
#include "kernels/memory/gradients.hpp"
#include "kernels/product/accumulate.hpp"

namespace danaus::exchange_gradient::inline DANAUS_BACKEND {

// Of step B, whose warps are those of a cluster.
template <Key key, Tuning tuning>
struct LinesShape {
  static constexpr exchange::Layout layout = Layout(key, tuning).lines;
};

template <Key key, Tuning tuning>
struct Shape {
  static constexpr Layout layout{key, tuning};
  static_assert(!layout.broken_rule(), "tunings.hpp has a line that Layout::broken_rule() refuses");
  using Steps = exchange::Shape<layout.steps.key, layout.steps.tuning>;
  using Lines = LinesShape<key, tuning>;
};

template <class P, Path path>
class Block {
 public:
  DANAUS_DEVICE explicit Block(const CorrelationArguments& a)
      : a_(a),
        in_bulk_(path == Path::any ? a.rows.transfer == Transfer::tensor : path == Path::tensor),
        leader_(device::thread_index() == 0),
        pregate_(layout.key.gated && in_bulk_ && a.rows.pregate),
        postgate_(layout.key.gated && in_bulk_ && a.rows.postgate),
        warp_(device::warp_index()),
        share_(device::block_index() % layout.key.shares),
        part_(device::block_index() / layout.key.shares % a.parts),
        channel_(device::block_index() / layout.key.shares / a.parts),
        items_(a.items_of(part_)) {}

  DANAUS_DEVICE void run() {
    prepare();
    fetch_behind(0);
    for (int i = 0; i < items_.count + kAhead; ++i) {
      if (i < items_.count) transform_item(i);
      if (i >= kAhead) accumulate(i - kAhead);
      if constexpr (layout.key.all) {
        device::sync_block();
        transform_back(i);
        device::sync_block();
        store_item(i);
      }
      if (kShares == 1) device::sync_block();  // what is kept has been read, or what goes ahead is there
      if (samples_stay()) fetch_behind((i + 1) * layout.item_slabs);
    }
    if (kShares > 1) device::arrive_cluster();
    store();
    if (kShares > 1) device::wait_cluster();  // nobody writes here or waits for an arrival any more
  }

 private:
  static constexpr Layout layout = P::layout;
  using S = typename P::Steps;
  using Lines = typename P::Lines;
  static constexpr auto steps = S::layout;
  static constexpr auto lines = Lines::layout;
  static constexpr int kShares = layout.key.shares;
  using Worker = BlockWorker<layout.threads>;
  static constexpr int kVectors = lines.tuning.pairs * lines.slabs;
  static constexpr int kAhead = layout.tuning.items - 1;  // items that step A is before step B
  static constexpr bool kFreesPlaces = layout.frees_places;
  // Barriers, behind those of what has come: of places that are free again, and four of each item's room.
  static constexpr SharedAddress kFree = 8 * layout.ring;
  // Of item i: its room, and how often others had that.
  static DANAUS_DEVICE int room_of(int i) { return i % layout.tuning.items; }
  static DANAUS_DEVICE int turn_of(int i) { return i / layout.tuning.items; }
  static DANAUS_DEVICE SharedAddress kept_of(int i) { return layout.item_bytes * room_of(i); }
  static DANAUS_DEVICE constexpr SharedAddress kept_at(int array, int slab, int row) {
    constexpr Kept places = layout.kept;
    return places.at(array, slab, row);
  }
  // Of what this block writes and reads there: its threads arrive each for itself, as racecheck follows no lane that
  // arrives for others. And of what the other blocks send, and have read of theirs.
  static DANAUS_DEVICE SharedAddress written_of(int i) { return room_barrier(0, i); }
  static DANAUS_DEVICE SharedAddress read_of(int i) { return room_barrier(1, i); }
  static DANAUS_DEVICE SharedAddress arrived_of(int i) { return room_barrier(2, i); }
  static DANAUS_DEVICE SharedAddress read_elsewhere_of(int i) { return room_barrier(3, i); }
  static DANAUS_DEVICE SharedAddress room_barrier(int which, int i) {
    return 2 * kFree + 8 * (which * layout.tuning.items + room_of(i));
  }
  static DANAUS_DEVICE SharedAddress exponents_of(int i, int array) {
    return layout.exponents_begin + 4 * steps.units * (2 * room_of(i) + array);
  }

  DANAUS_DEVICE void prepare() {
    if (leader_ && in_bulk_)
      for (int i = 0; i < layout.ring; ++i)
        device::barrier_init(8 * i, 1), device::barrier_init(kFree + 8 * i, steps.column_chunks);
    if (leader_ && kShares > 1)
      for (int i = 0; i < layout.tuning.items; ++i)
        device::barrier_init(written_of(i), layout.threads), device::barrier_init(read_of(i), layout.threads),
            device::barrier_init(arrived_of(i), 1),
            device::barrier_init(read_elsewhere_of(i), (kShares - 1) * layout.tuning.warps);
    for (int i = device::thread_index(); i < layout.table_bytes / 16; i += layout.threads) {
      const int vector = steps.line_at + i / 32 * (steps.line_vectors / layout.table_vectors);
      device::store_shared<16>(layout.table_begin + 16 * i,
                               device::load_constant<16>(a_.rows.tables + 128 * vector + 4 * (i % 32)));
    }
    device::fence_async();
    device::sync_block();
    load_rows<S>(a_.rows.tables, rows_);
    exchange::load_columns<S>(a_.rows.tables, columns_);
    columns_.sixteen = rows_.sixteen;  // one set of registers, of which the compiler would not know
    const int vector = steps.group_at + 2 * (first_line() / lines.group_lines);
    groups_ = {load_matrix(a_.rows.tables, vector), load_matrix(a_.rows.tables, vector + 1)};
    device::let_next_grid_begin();
    device::wait_for_previous_grid();
    if constexpr (layout.key.all)
      if (a_.rows.spectrum_factors)
        factors_[0] = factors_[1] = spectrum_factor_ =
            float_of(device::load_global<4>(a_.rows.spectrum_factors + channel_)[0]);
    if (kShares > 1) device::sync_cluster();
  }

  // Step A of the i-th item.
  DANAUS_DEVICE void transform_item(int i) {
    const int first = i * layout.item_slabs;
    if (kShares > 1 && leader_) device::barrier_expect(arrived_of(i), layout.arriving_bytes);
    DANAUS_UNROLL_BY(1)
    for (int slab = 0; slab < layout.item_slabs; slab += layout.stage_slabs) {
      transform(first + slab, i, slab);
      const bool last = slab + layout.stage_slabs == layout.item_slabs;
      if (!kFreesPlaces && !last && !layout.refills_between && !pregate_ && !postgate_) continue;
      if (samples_stay() && !last) continue;
      if (!kFreesPlaces || !in_bulk_) device::sync_block();
      if (samples_stay()) continue;
      fetch_behind(first + slab + layout.stage_slabs);
    }
  }

  // Whether an item's samples and gates stay in the ring until its gradients have been stored.
  DANAUS_DEVICE bool samples_stay() const { return layout.samples_stay && in_bulk_; }

  DANAUS_DEVICE float* energies_of(int i, int array, int unit) const {
    return a_.energies_of(array, channel_, items_.first + i, steps.units, unit);
  }

  // Lines of the item that had the i-th's room have been read, in all blocks of the cluster; and this warp has read
  // its own.
  static DANAUS_DEVICE void wait_for_room(int i) {
    if (turn_of(i) == 0) return;
    device::barrier_wait(read_of(i), (turn_of(i) - 1) & 1);
    device::barrier_wait_released(read_elsewhere_of(i), (turn_of(i) - 1) & 1);
  }
  DANAUS_DEVICE void say_read(int i, const exchange::LinePairs<Lines>& last) const {
    device::barrier_arrive(read_of(i));
    u32 word = 0;
    DANAUS_UNROLL
    for (int p = 0; p < lines.tuning.pairs; ++p) {
      DANAUS_UNROLL
      for (int s = 0; s < lines.slabs; ++s) word ^= last[p][0][s].re;
    }
    device::sync_warp();
    if (const int rank = device::lane_index(); rank < kShares && rank != share_)
      device::barrier_release_remote(device::remote_address(read_elsewhere_of(i), rank), word);
  }

  DANAUS_DEVICE Item item(int i) const {
    const int row = steps.item_rows * (items_.first + i);
    return {channel_, row};
  }

  // Slabs, by their number among all that this block reads: those of u (array 0) and of dy in turn.
  static DANAUS_DEVICE int array_of(int number) { return number % 2; }
  DANAUS_DEVICE int slab_of(int number) const { return share_ + kShares * (number / 2 % layout.own_slabs); }
  // Places of the ring that are filled before a slab: each array's slab is followed by its gate's, if bulk copies bring
  // that. Where threads bring slabs, they multiply.
  DANAUS_DEVICE int places_before(int number) const {
    return number / 2 * (2 + pregate_ + postgate_) + number % 2 * (1 + pregate_);
  }
  DANAUS_DEVICE bool has_gate(int array) const { return array == 0 ? pregate_ : postgate_; }
  static DANAUS_DEVICE SharedAddress address_of(int place) {
    return layout.ring_begin + place % layout.ring * layout.slab_stride;
  }
  static DANAUS_DEVICE SharedAddress barrier_of(int place) { return 8 * (place % layout.ring); }

  // Fills what is free of the ring when slabs before `number` have been read; or are being read, where places are free
  // one by one.
  DANAUS_DEVICE void fetch_behind(int number) {
    const int limit = places_before(number) + layout.ring, total = items_.count * layout.item_slabs;
    if (!in_bulk_ || leader_) {
      DANAUS_UNROLL_BY(1)
      for (; fetched_ < total && places_before(fetched_ + 1) <= limit; ++fetched_) {
        const Item from = item(fetched_ / layout.item_slabs);
        const int array = array_of(fetched_), slab = slab_of(fetched_), place = places_before(fetched_);
        if (in_bulk_) {
          const auto copy = [&](const TensorMap& map, int to) {
            if (kFreesPlaces && to >= layout.ring)
              device::barrier_wait(kFree + barrier_of(to), (to / layout.ring - 1) & 1);
            device::barrier_expect(barrier_of(to), layout.slab_stride);
            copy_slab<S>(a_.rows, Path::tensor, map, a_.rows.u_line, from, slab, address_of(to), barrier_of(to));
          };
          copy(array == 0 ? a_.rows.u_map : a_.rows.y_map, place);
          if (has_gate(array)) copy(array == 0 ? a_.rows.pregate_map : a_.rows.postgate_map, place + 1);
        } else if constexpr (path != Path::tensor) {
          const auto copy_by_threads = [&](const void* rows, const RowStrides& strides, const void* gate,
                                           const RowStrides& gate_strides) {
            copy_gated_slab_by_threads<S, Worker>(a_.rows, rows, strides, gate, gate_strides, from, slab,
                                                  address_of(place));
          };
          if (array == 0)
            copy_by_threads(a_.rows.u, a_.rows.u_strides, a_.rows.pregate, a_.rows.pregate_strides);
          else
            copy_by_threads(a_.dy, a_.dy_strides, a_.rows.postgate, a_.rows.postgate_strides);
        }
      }
    }
    if (!in_bulk_) device::copy_async_commit();
  }
  DANAUS_DEVICE void wait_for(int place) const {
    if (in_bulk_) device::barrier_wait(barrier_of(place), place / layout.ring & 1);
  }
  // This warp has read what is there.
  DANAUS_DEVICE void say_free(int place, bool gate) const {
    if (!kFreesPlaces || !in_bulk_) return;
    device::sync_warp();
    if (device::lane_index() > 0) return;
    device::barrier_arrive(kFree + barrier_of(place));
    if (gate) device::barrier_arrive(kFree + barrier_of(place + 1));
  }

  // Step A of the slabs from `number` on, the i-th item's from `slab` on.
  DANAUS_DEVICE void transform(int number, int i, int slab) {
    if (!in_bulk_) {
      device::copy_async_wait<0>();
      device::sync_block();
    }
    DANAUS_UNROLL_BY(1)
    for (int j = 0; j < layout.stage_units; ++j) {
      const int unit = warp_ + layout.tuning.warps * j, behind = unit / steps.column_chunks;
      const int array = array_of(slab + behind), place = places_before(number + behind);
      wait_for(place);
      if (has_gate(array)) wait_for(place + 1);
      const bool first = slab == 0 && j == 0;  // of the warp's units
      transform_unit(i, place, array, slab_of(slab + behind), unit % steps.column_chunks, [&] {
        say_free(place, has_gate(array));
        if (kShares > 1 && first) wait_for_room(i);
      });
      if (kShares > 1 && slab + layout.stage_slabs == layout.item_slabs && j == layout.stage_units - 1)
        device::barrier_arrive(written_of(i));
    }
  }
  // Calls before_writing() once it has read the unit.
  template <class BeforeWriting>
  DANAUS_DEVICE void transform_unit(int i, int place, int array, int slab, int chunk,
                                    BeforeWriting before_writing) const {
    const int unit = slab * steps.column_chunks + chunk;
    const RowTwiddles<S> own = exchange::load_unit<S>(a_.rows.tables, unit, false);
    const SharedAddress from = address_of(place);
    const Column<S> column(from, from + steps.row_bytes, chunk);
    u32 re[steps.radix][8], im[steps.radix][8] = {};
    const auto load = [&](auto load_rows_of) {
      DANAUS_UNROLL
      for (int nr = 0; nr < steps.radix; ++nr) {
        load_rows_of(0, nr, re[nr]);
        if constexpr (steps.pair) load_rows_of(1, nr, im[nr]);
      }
    };
    if (has_gate(array)) {
      const SharedAddress gate_from = address_of(place + 1);
      const Column<S> gate(gate_from, gate_from + steps.row_bytes, chunk);
      load([&](int row, int nr, u32(&tiles)[8]) {
        const auto words = [&](int b) { return gated<steps.dtype>(column.words(row, nr, b), gate.words(row, nr, b)); };
        column.unpack(words(0), words(1), tiles);
      });
    } else {
      load([&](int row, int nr, u32(&tiles)[8]) { column.load(row, nr, tiles); });
    }
    before_writing();
    const SharedAddress exponent_at = exponents_of(i, array) + 4 * unit;
    const int narrowed = exchange::narrow_unit<S, false>(re, im, exponent_at);
    if constexpr (has_energies<S>) {
      const range::Energies of_unit = unit_energies<S>(re, im, steps.scaled ? scaled::power_of_two(narrowed) : 1);
      if (a_.energies) store_energies(energies_of(i, array, unit), of_unit);
    }
    const SharedAddress kept = kept_of(i) + kept_at(array, slab, 0);
    if constexpr (kShares == 1) {
      store_unit(Column<S>(kept, kept + steps.row_bytes, chunk), re, im, own);
    } else {
      if constexpr (steps.scaled) {
        device::sync_warp();
        const Words<1> exponent = device::load_shared<4>(exponent_at);
        device::sync_warp();
        if (const int rank = device::lane_index(); rank < kShares && rank != share_)
          device::store_remote_async<4>(device::remote_address(exponent_at, rank), exponent,
                                        device::remote_address(arrived_of(i), rank));
      }
      store_unit(ColumnOfShares(column, from, kept, arrived_of(i), share_), re, im, own);
    }
  }
  template <class To>
  DANAUS_DEVICE void store_unit(const To& to, const u32 (&re)[steps.radix][8], const u32 (&im)[steps.radix][8],
                                const RowTwiddles<S>& own) const {
    RowConstants<S> rows;
    if constexpr (layout.key.all) load_rows<S>(a_.rows.tables, rows);
    rows_there<S, false>(re, im, layout.key.all ? rows : rows_, own, [&](int kr, const Complex2(&x)[8]) {
      u32 re_out[8], im_out[8];
      DANAUS_UNROLL
      for (int i = 0; i < 8; ++i) re_out[i] = x[i].re, im_out[i] = x[i].im;
      to.store(0, kr, re_out);
      to.store(1, kr, im_out);
    });
  }

  // A column as the blocks of the cluster keep it: lines of k1, which is this lane's g, are in that order theirs.
  class ColumnOfShares {
   public:
    DANAUS_DEVICE ColumnOfShares(const Column<S>& column, SharedAddress place, SharedAddress kept,
                                 SharedAddress arrived, int share)
        : column_(column) {
      const int rank = device::lane_index() / 4 * kShares / 8;
      own_ = rank == share;
      DANAUS_UNROLL
      for (int b = 0; b < 2; ++b) {
        here_[b] = kept + column.address[b] - place - rank * (steps.row_bytes / kShares);
        there_[b] = device::remote_address(here_[b], rank);
      }
      arrived_ = device::remote_address(arrived, rank);
    }
    DANAUS_DEVICE void store(int row, int kr, const u32 (&tiles)[8]) const {
      Words<4> words[2];
      column_.pack(tiles, words[0], words[1]);
      DANAUS_UNROLL
      for (int b = 0; b < 2; ++b) {
        const u32 offset = row * steps.row_bytes + 1024 * kr;
        if (own_)
          device::store_shared<16>(here_[b] + offset, words[b]);
        else
          device::store_remote_async<16>(there_[b] + offset, words[b], arrived_);
      }
    }

   private:
    const Column<S>& column_;
    bool own_;
    SharedAddress here_[2];
    RemoteAddress there_[2], arrived_;
  };

  // The first of this warp's lines among the cluster's.
  DANAUS_DEVICE int first_line() const { return (share_ * layout.tuning.warps + warp_) * lines.warp_lines; }
  DANAUS_DEVICE exchange::LineTwiddles<Lines> twiddles_of(int line) const {  // of this warp's lines
    const auto vector = [&](int v) {
      const int number = (first_line() % lines.group_lines + line) * layout.table_vectors + v;
      return device::load_shared<16>(layout.table_begin + 512 * number + 16 * device::lane_index());
    };
    if constexpr (layout.table_vectors == lines.line_vectors) {
      Words<4> w[lines.line_vectors];
      DANAUS_UNROLL
      for (int v = 0; v < lines.line_vectors; ++v) w[v] = vector(v);
      return exchange::LineTwiddles<Lines>(w);
    } else {
      const Words<4> w = vector(0);
      exchange::LineTwiddles<Lines> twiddles;
      DANAUS_UNROLL
      for (int ks = 0; ks < lines.line_vectors; ++ks) twiddles.there[ks] = {w[2 * ks], w[2 * ks + 1]};
      return twiddles;
    }
  }

  // A batch of lines of one array, transformed. `last`: nothing else of what is kept will be read.
  DANAUS_DEVICE void transform_batch(int i, int array, int batch, const u32 (&unit_scales)[lines.slabs],
                                     exchange::LinePairs<Lines>& x, bool last) const {
    exchange::LinePlaces<Lines> at;
    exchange::PairTwiddles<Lines> own;
    exchange::load_lines<Lines>([&](int slab, int row) { return kept_of(i) + kept_at(array, slab, row); },
                                warp_ * lines.pairs_per_warp + batch * lines.tuning.pairs, unit_scales, at, x);
    if (kShares > 1 && last) say_read(i, x);
    exchange::transform_lines<Lines>(
        columns_, [&](int line) { return twiddles_of(2 * batch * lines.tuning.pairs + line); }, own, x);
    DANAUS_UNROLL
    for (int p = 0; p < lines.tuning.pairs; ++p) {
      DANAUS_UNROLL
      for (int s = 0; s < lines.slabs; ++s) from_left<false>(groups_.n4, x[p][0][s], x[p][1][s]);
    }
  }

  // The vector of a spectrum, or of the sums, that is the i-th of a batch.
  DANAUS_DEVICE int vector_of(int batch, int i) const {
    const int pair = first_line() / 2 + batch * lines.tuning.pairs + i / lines.slabs;
    return pair * lines.slabs + i % lines.slabs;
  }

  // Samples of an item, where bulk copies have brought them.
  struct GatesInRing {
    static constexpr int at_once = 1;
    const Block& block;
    int first;  // slab of the item
    DANAUS_DEVICE Words<4> operator()(GateOfRows gate, const GradientChunk& of) const {
      const int place =
          block.places_before(first + 2 * of.slab + (gate == GateOfRows::dy)) + (gate == GateOfRows::pregate);
      return device::load_shared<16>(swizzled(address_of(place) + of.row * steps.row_bytes + of.bytes));
    }
  };
  // The gradients of the i-th item's rows, out of its convolutions.
  DANAUS_DEVICE void store_item(int i) const {
    constexpr int kBehind = kept_at(1, 0, 0) - kept_at(0, 0, 0);
    const auto store = [&](const auto& gates) {
      store_gradients<S, Worker, path>(
          a_, item(i), factors_, [&](int slab, int row) { return kept_of(i) + kept_at(0, slab, row); }, kBehind, gates);
    };
    if constexpr (layout.samples_stay && path != Path::threads)
      if (in_bulk_) return store(GatesInRing{*this, i * layout.item_slabs});
    if constexpr (!layout.samples_stay || path != Path::tensor) store(GatesFromMemory<path>{a_});
  }

  // A batch of lines of one array times the spectrum, or its conjugate, back to where it came from.
  template <bool conjugate>
  DANAUS_DEVICE void convolve_batch(int i, int array, int batch, const Words<4> (&spectra)[kVectors],
                                    exchange::LinePairs<Lines>& x) const {
    DANAUS_UNROLL
    for (int p = 0; p < lines.tuning.pairs; ++p) {
      const int first = 2 * (batch * lines.tuning.pairs + p);
      const exchange::LineTwiddles<Lines> own[2] = {twiddles_of(first), twiddles_of(first + 1)};
      DANAUS_UNROLL
      for (int s = 0; s < lines.slabs; ++s)
        exchange::multiply_lines<Lines, conjugate>(groups_, spectra[p * lines.slabs + s], own, s, x[p]);
    }
    DANAUS_UNROLL
    for (int p = 0; p < lines.tuning.pairs; ++p)
      exchange::transform_lines_back<Lines>(
          [&](int slab, int row) { return kept_of(i) + kept_at(array, slab, row); },
          exchange::line_place<Lines>(warp_ * lines.pairs_per_warp + batch * lines.tuning.pairs + p, 0), columns_,
          x[p]);
  }

  // Step B of both arrays of the i-th item, and what they give.
  DANAUS_DEVICE void accumulate(int i) {
    if (kShares > 1) {
      device::barrier_wait(written_of(i), turn_of(i) & 1);
      device::barrier_wait_cluster(arrived_of(i), turn_of(i) & 1);
    }
    u32 of_u[lines.slabs] = {}, of_dy[lines.slabs] = {};
    float factor = 1;
    if constexpr (lines.scaled) {
      const float scale = scaled::power_of_two(exchange::scale_units<Lines>(exponents_of(i, 0), of_u));
      const float other = scaled::power_of_two(exchange::scale_units<Lines>(exponents_of(i, 1), of_dy));
      factor = scale * other;
      if constexpr (layout.key.all) factors_[0] = scale * spectrum_factor_, factors_[1] = other * spectrum_factor_;
    }
    DANAUS_UNROLL
    for (int batch = 0; batch < lines.batches; ++batch) {
      exchange::LinePairs<Lines> u, dy;
      transform_batch(i, 0, batch, of_u, u, false);
      transform_batch(i, 1, batch, of_dy, dy, batch == lines.batches - 1);
      [[maybe_unused]] Words<4> spectra[kVectors];
      if constexpr (layout.key.all) {
        device::sync_warp();  // without it the compiler asks for them before the transforms, and spills
        DANAUS_UNROLL
        for (int v = 0; v < kVectors; ++v)
          spectra[v] = device::load_global<16>(a_.rows.spectrum + static_cast<long long>(channel_) * layout.size +
                                               4 * (32 * vector_of(batch, v) + device::lane_index()));
      }
      DANAUS_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        DANAUS_UNROLL
        for (int line = 0; line < 2; ++line)
          sums_[batch][v][line].template add<lines.scaled>(u[v / lines.slabs][line][v % lines.slabs],
                                                           dy[v / lines.slabs][line][v % lines.slabs], factor);
      }
      if constexpr (layout.key.all) {
        if (a_.rows.postgate) convolve_batch<false>(i, 0, batch, spectra, u);
        convolve_batch<true>(i, 1, batch, spectra, dy);
      }
    }
  }

  // Step A back of the i-th item, in place: of w u where that is wanted, and of v dy.
  DANAUS_DEVICE void transform_back(int i) const {
    RowConstants<S> rows;  // for each item anew: the other steps need the registers
    load_rows<S>(a_.rows.tables, rows);
    DANAUS_UNROLL_BY(1)
    for (int number = warp_; number < 2 * steps.units; number += layout.tuning.warps) {
      const int array = number / steps.units, unit = number % steps.units;
      if (array == 0 && !a_.rows.postgate) continue;
      const RowTwiddles<S> own = exchange::load_unit<S>(a_.rows.tables, unit, true);
      const SharedAddress place = kept_of(i) + kept_at(array, unit / steps.column_chunks, 0);
      const Column<S> column(place, place + steps.row_bytes, unit % steps.column_chunks);
      u32 re[steps.radix][8], im[steps.radix][8];
      rows_back<S, false>(rows, own, re, im, [&](int kr, Complex2(&x)[8]) {
        u32 re_in[8], im_in[8];
        column.load(0, kr, re_in), column.load(1, kr, im_in);
        DANAUS_UNROLL
        for (int n = 0; n < 8; ++n) x[n] = {re_in[n], im_in[n]};
      });
      if constexpr (!steps.scaled)
        if (has_overflow<S>(re, im) && a_.energies) note_overflow(energies_of(i, array, unit));
      DANAUS_UNROLL
      for (int nr = 0; nr < steps.radix; ++nr) {
        column.store(0, nr, re[nr]);
        if constexpr (steps.pair) column.store(1, nr, im[nr]);
      }
    }
  }

  DANAUS_DEVICE void store() const {
    float* const sums = a_.sums + 2 * (static_cast<long long>(part_) * a_.rows.channels + channel_) * layout.size;
    DANAUS_UNROLL
    for (int batch = 0; batch < lines.batches; ++batch) {
      DANAUS_UNROLL
      for (int i = 0; i < kVectors; ++i) {
        DANAUS_UNROLL
        for (int line = 0; line < 2; ++line) sums_[batch][i][line].store(sums, vector_of(batch, i), line);
      }
    }
  }

  const CorrelationArguments& a_;
  const bool in_bulk_, leader_, pregate_, postgate_;  // gates come through the ring
  const int warp_, share_, part_, channel_;
  const ItemRange items_;
  int fetched_ = 0;
  RowConstants<S> rows_;
  exchange::Constants<Lines> columns_;
  exchange::GroupMatrices groups_;
  ComplexSums sums_[lines.batches][kVectors][2];
  float spectrum_factor_ = 1, factors_[2] = {1, 1};  // of bf16 samples: the channel's, and of the item's convolutions
};

template <class P, Path path>
DANAUS_DEVICE void run(const CorrelationArguments& a) {
  Block<P, path>(a).run();
}

}  // namespace danaus::exchange_gradient::inline DANAUS_BACKEND
