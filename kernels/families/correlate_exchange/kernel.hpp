// correlate_exchange: the sums over a channel's rows of conj(U) dY, of which the filter's gradient is the inverse
// transform; N = 64 r x columns.
//
// source     exchange/kernel.hpp, steps A and B up to where the spectrum would come
// index      the exchange's; the sums stand where sum_index() says
// shapes     u, dy, gates [B, H, L], L <= N; one block takes a part of a channel's items, and of each two batch rows
//            (pair fold) or one row (right angle)
// shares     where one block's registers have no room for the sums of all frequencies, the blocks of a cluster share
//            an item: each reads and transforms the columns of its own slabs (step A), writes what has k1 = 8 / shares
//            i ... to block i, and goes on with the lines that it is given (step B). A barrier of the cluster stands
//            before and behind step B; the one behind is passed in two halves, with work between
// fold       of a pair the cross terms of its rows are imaginary after the inverse transform, so the real part of that
//            is the sum over both
// types      samples f16 or bf16; arithmetic f16, of bf16 scaled as in the exchange; sums fp32
// scaling    that of two transforms, spectrum_scale() times N
// order      a block's items, then the parts: fixed by the shapes and the device, so that results repeat bit by bit
// error      roundings of one way for U and dY each, and of their sums: Family::roundings()
// reference  reference/convolution/gradient.hpp   test   tests/kernels/backward_test.cpp
#pragma once

#include "kernels/families/correlate_exchange/layout.hpp"
#include "kernels/families/exchange/kernel.hpp"
#include "kernels/middle/accumulate.hpp"

namespace danaus::correlate_exchange::inline DANAUS_BACKEND {

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
        warp_(device::warp_index()),
        share_(device::block_index() % layout.key.shares),
        part_(device::block_index() / layout.key.shares % a.parts),
        channel_(device::block_index() / layout.key.shares / a.parts),
        items_(a.items_of(part_)) {}

  DANAUS_DEVICE void run() {
    prepare();
    fetch_until(layout.tuning.ring);
    for (int i = 0; i < items_.count; ++i) {
      const int first = i * layout.item_slabs;
      DANAUS_UNROLL_BY(1)
      for (int slab = 0; slab < layout.item_slabs; slab += layout.stage_slabs) {
        transform(first + slab, slab);
        if (slab + layout.stage_slabs == layout.item_slabs)
          sync_shares();
        else if (layout.refills_between)
          device::sync_block();
        else
          continue;
        fetch_until(first + slab + layout.stage_slabs + layout.tuning.ring);
      }
      accumulate(i + 1 == items_.count);
      if (layout.key.shares == 1) device::sync_block();  // what is kept of this item has been read
    }
    store();
  }

 private:
  static constexpr Layout layout = P::layout;
  using S = typename P::Steps;
  using Lines = typename P::Lines;
  static constexpr auto steps = S::layout;
  static constexpr auto lines = Lines::layout;
  static constexpr int kShares = layout.key.shares;
  using Worker = exchange::BlockWorker<layout.threads>;
  static constexpr int kVectors = lines.tuning.pairs * lines.slabs;
  static DANAUS_DEVICE SharedAddress exponents_of(int array) {
    return layout.exponents_begin + 4 * steps.units * array;
  }

  DANAUS_DEVICE void prepare() {
    if (leader_ && in_bulk_)
      for (int i = 0; i < layout.tuning.ring; ++i) device::barrier_init(8 * i, 1);
    for (int i = device::thread_index(); i < layout.table_bytes / 16; i += layout.threads)
      device::store_shared<16>(layout.table_begin + 16 * i,
                               device::load_constant<16>(a_.rows.tables + 128 * steps.line_at + 4 * i));
    device::fence_async();
    device::sync_block();
    load_rows<S>(a_.rows.tables, rows_);
    exchange::load_columns<S>(a_.rows.tables, columns_);
    const int vector = steps.group_at + 2 * (first_line() / lines.group_lines);
    groups_ = {load_matrix(a_.rows.tables, vector), load_matrix(a_.rows.tables, vector + 1)};
    device::let_next_grid_begin();
    device::wait_for_previous_grid();
    if (kShares > 1 && items_.count > 0) device::arrive_cluster();
  }

  // What step A has written is there, in all blocks of the cluster.
  static DANAUS_DEVICE void sync_shares() {
    if constexpr (kShares > 1)
      device::sync_cluster();
    else
      device::sync_block();
  }

  DANAUS_DEVICE Item item(int i) const {
    const int row = steps.item_rows * (items_.first + i);
    return {channel_, row, row * samples_to_next_row(a_.rows) + static_cast<long long>(channel_) * a_.rows.length};
  }

  // Slabs, by their number among all that this block reads: those of u (array 0) and of dy in turn.
  static DANAUS_DEVICE int array_of(int number) { return number % 2; }
  DANAUS_DEVICE int slab_of(int number) const { return share_ + kShares * (number / 2 % layout.own_slabs); }
  static DANAUS_DEVICE SharedAddress place_of(int number) {
    return layout.ring_begin + number % layout.tuning.ring * layout.slab_stride;
  }
  DANAUS_DEVICE void fetch_until(int limit) {
    limit = min(limit, items_.count * layout.item_slabs);
    if (!in_bulk_ || leader_) {
      DANAUS_UNROLL_BY(1)
      for (; fetched_ < limit; ++fetched_) {
        const Item from = item(fetched_ / layout.item_slabs);
        const int array = array_of(fetched_), slab = slab_of(fetched_);
        if (in_bulk_) {
          const SharedAddress barrier = 8 * (fetched_ % layout.tuning.ring);
          device::barrier_expect(barrier, layout.slab_stride);
          copy_slab<S>(a_.rows, Path::tensor, array == 0 ? a_.rows.u_map : a_.rows.y_map, a_.rows.u_line, from, slab,
                       place_of(fetched_), barrier);
        } else if constexpr (path != Path::tensor) {
          copy_gated_slab_by_threads<S, Worker>(a_.rows, array == 0 ? a_.rows.u : a_.dy,
                                                array == 0 ? a_.rows.pregate : a_.rows.postgate, from, slab,
                                                place_of(fetched_));
        }
      }
    }
    if (!in_bulk_) device::copy_async_commit();
  }

  // Step A of the slabs from `number` on, the item's from `slab` on.
  DANAUS_DEVICE void transform(int number, int slab) {
    if (!in_bulk_) {
      device::copy_async_wait<0>();
      device::sync_block();
    }
    DANAUS_UNROLL_BY(1)
    for (int j = 0; j < layout.stage_units; ++j) {
      const int unit = warp_ + layout.tuning.warps * j, behind = unit / steps.column_chunks;
      if (in_bulk_)
        device::barrier_wait(8 * ((number + behind) % layout.tuning.ring), (number + behind) / layout.tuning.ring & 1);
      transform_unit(place_of(number + behind), array_of(slab + behind), slab_of(slab + behind),
                     unit % steps.column_chunks, slab == 0 && j == 0);
    }
  }
  // `first`: of the warp's units of the item.
  DANAUS_DEVICE void transform_unit(SharedAddress place, int array, int slab, int chunk, bool first) const {
    const int unit = slab * steps.column_chunks + chunk;
    const RowTwiddles<S> own = exchange::load_unit<S>(a_.rows.tables, unit, false);
    const Column<S> column(place, place + steps.row_bytes, chunk);
    u32 re[steps.radix][8], im[steps.radix][8] = {};
    DANAUS_UNROLL
    for (int nr = 0; nr < steps.radix; ++nr) {
      column.load(0, nr, re[nr]);
      if constexpr (steps.pair) column.load(1, nr, im[nr]);
    }
    if (kShares > 1 && first) device::wait_cluster();  // what is kept of the item before has been read
    const SharedAddress exponent_at = exponents_of(array) + 4 * unit;
    exchange::narrow_unit<S, false>(re, im, exponent_at);
    constexpr Kept places = layout.kept;
    const SharedAddress kept = places.at(array, slab, 0);
    if constexpr (kShares == 1) {
      store_unit(Column<S>(kept, kept + steps.row_bytes, chunk), re, im, own);
    } else {
      if constexpr (steps.scaled) {
        device::sync_warp();
        if (const int rank = device::lane_index(); rank < kShares && rank != share_)
          device::store_remote<4>(device::remote_address(exponent_at, rank), device::load_shared<4>(exponent_at));
      }
      store_unit(ColumnOfShares(column, place, kept), re, im, own);
    }
  }
  template <class To>
  DANAUS_DEVICE void store_unit(const To& to, const u32 (&re)[steps.radix][8], const u32 (&im)[steps.radix][8],
                                const RowTwiddles<S>& own) const {
    rows_there<S, false>(re, im, rows_, own, [&](int kr, const Complex2(&x)[8]) {
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
    DANAUS_DEVICE ColumnOfShares(const Column<S>& column, SharedAddress place, SharedAddress kept) : column_(column) {
      const int rank = device::lane_index() / 4 * kShares / 8;
      DANAUS_UNROLL
      for (int b = 0; b < 2; ++b)
        to_[b] = device::remote_address(kept + column.address[b] - place - rank * (steps.row_bytes / kShares), rank);
    }
    DANAUS_DEVICE void store(int row, int kr, const u32 (&tiles)[8]) const {
      Words<4> words[2];
      column_.pack(tiles, words[0], words[1]);
      DANAUS_UNROLL
      for (int b = 0; b < 2; ++b) device::store_remote<16>(to_[b] + (row * steps.row_bytes + 1024 * kr), words[b]);
    }

   private:
    const Column<S>& column_;
    RemoteAddress to_[2];
  };

  // The first of this warp's lines among the cluster's.
  DANAUS_DEVICE int first_line() const { return (share_ * layout.tuning.warps + warp_) * lines.warp_lines; }
  DANAUS_DEVICE exchange::LineTwiddles<Lines> twiddles_of(int line) const {  // of this warp's lines
    Words<4> w[lines.line_vectors];
    DANAUS_UNROLL
    for (int v = 0; v < lines.line_vectors; ++v) {
      const int vector = (first_line() % lines.group_lines + line) * lines.line_vectors + v;
      w[v] = device::load_shared<16>(layout.table_begin + 512 * vector + 16 * device::lane_index());
    }
    return exchange::LineTwiddles<Lines>(w);
  }

  // A batch of lines of one array, transformed. `last`: nothing else of what is kept will be read.
  DANAUS_DEVICE void transform_batch(int array, int batch, const u32 (&unit_scales)[lines.slabs],
                                     exchange::LinePairs<Lines>& x, bool last) const {
    constexpr Kept places = layout.kept;
    exchange::LinePlaces<Lines> at;
    exchange::PairTwiddles<Lines> own;
    exchange::load_lines<Lines>([&](int slab, int row) -> SharedAddress { return places.at(array, slab, row); },
                                warp_* lines.pairs_per_warp + batch * lines.tuning.pairs, unit_scales, at, x);
    if (kShares > 1 && last) device::arrive_cluster();
    exchange::transform_lines<Lines>(
        columns_, [&](int line) { return twiddles_of(2 * batch * lines.tuning.pairs + line); }, own, x);
    DANAUS_UNROLL
    for (int p = 0; p < lines.tuning.pairs; ++p) {
      DANAUS_UNROLL
      for (int s = 0; s < lines.slabs; ++s) from_left<false>(groups_.n4, x[p][0][s], x[p][1][s]);
    }
  }

  // Step B of both arrays, and what they give.
  DANAUS_DEVICE void accumulate(bool last_item) {
    u32 of_u[lines.slabs] = {}, of_dy[lines.slabs] = {};
    float factor = 1;
    if constexpr (lines.scaled)
      factor = scaled::power_of_two(exchange::scale_units<Lines>(exponents_of(0), of_u)) *
               scaled::power_of_two(exchange::scale_units<Lines>(exponents_of(1), of_dy));
    DANAUS_UNROLL
    for (int batch = 0; batch < lines.batches; ++batch) {
      exchange::LinePairs<Lines> u, dy;
      transform_batch(0, batch, of_u, u, false);
      transform_batch(1, batch, of_dy, dy, batch == lines.batches - 1 && !last_item);
      DANAUS_UNROLL
      for (int i = 0; i < kVectors; ++i) {
        DANAUS_UNROLL
        for (int line = 0; line < 2; ++line)
          sums_[batch][i][line].template add<lines.scaled>(u[i / lines.slabs][line][i % lines.slabs],
                                                           dy[i / lines.slabs][line][i % lines.slabs], factor);
      }
    }
  }

  DANAUS_DEVICE void store() const {
    constexpr Sums order = layout.sums;
    const long long first_row = (static_cast<long long>(part_) * a_.rows.channels + channel_) * kShares;
    DANAUS_UNROLL
    for (int batch = 0; batch < lines.batches; ++batch) {
      DANAUS_UNROLL
      for (int i = 0; i < kVectors; ++i) {
        const int pair = first_line() / 2 + batch * lines.tuning.pairs + i / lines.slabs;
        float* const sums = a_.sums + 2 * (first_row + order.row(pair)) * (layout.size / kShares);
        DANAUS_UNROLL
        for (int line = 0; line < 2; ++line)
          sums_[batch][i][line].store(sums, order.vector(pair, i % lines.slabs), line);
      }
    }
  }

  const CorrelationArguments& a_;
  const bool in_bulk_, leader_;
  const int warp_, share_, part_, channel_;
  const ItemRange items_;
  int fetched_ = 0;
  RowConstants<S> rows_;
  exchange::Constants<Lines> columns_;
  exchange::GroupMatrices groups_;
  ComplexSums sums_[lines.batches][kVectors][2];
};

template <class P, Path path>
DANAUS_DEVICE void run(const CorrelationArguments& a) {
  Block<P, path>(a).run();
}

}  // namespace danaus::correlate_exchange::inline DANAUS_BACKEND
