// correlate_exchange: the sums over a channel's rows of conj(U) dY, of which the filter's gradient is the inverse
// transform; N = 64 r x columns.
//
// source     exchange/kernel.hpp, steps A and B up to where the spectrum would come
// index      the exchange's; the sums stand where sum_index() says. Where registers have no room for all of them,
//            blocks share a channel: of the frequencies k = kr + r ..., each keeps those of its own kr, and neighbours
//            find what the other reads in L2
// shapes     u, dy, gates [B, H, L], L <= N; one block takes a part of a channel's items, and of each two batch rows
//            (pair fold) or one row (right angle)
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

template <Key key, Tuning tuning>
struct Shape {
  static constexpr Layout layout{key, tuning};
  static_assert(!layout.broken_rule(), "tunings.hpp has a line that Layout::broken_rule() refuses");
  using Steps = exchange::Shape<layout.steps.key, layout.steps.tuning>;
  using Kept = exchange::Shape<layout.kept.key, layout.kept.tuning>;
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
        if (!layout.refills_between) continue;
        device::sync_block();
        fetch_until(first + slab + layout.stage_slabs + layout.tuning.ring);
      }
      if (!layout.refills_between) {
        device::sync_block();
        fetch_until(first + layout.item_slabs + layout.tuning.ring);
      }
      accumulate();
      device::sync_block();  // what is kept of this item has been read
    }
    store();
  }

 private:
  static constexpr Layout layout = P::layout;
  using S = typename P::Steps;
  using Kept = typename P::Kept;
  static constexpr auto steps = S::layout;
  static constexpr auto kept = Kept::layout;
  using Worker = exchange::BlockWorker<layout.threads>;
  static constexpr int kVectors = kept.tuning.pairs * kept.slabs;
  static DANAUS_DEVICE SharedAddress exponents_of(int array) {
    return layout.exponents_begin + 4 * steps.units * array;
  }

  DANAUS_DEVICE void prepare() {
    if (leader_ && in_bulk_)
      for (int i = 0; i < layout.tuning.ring; ++i) device::barrier_init(8 * i, 1);
    const int line_at = steps.line_at + share_ * layout.table_bytes / 512;
    for (int i = device::thread_index(); i < layout.table_bytes / 16; i += layout.threads)
      device::store_shared<16>(layout.table_begin + 16 * i,
                               device::load_constant<16>(a_.rows.tables + 128 * line_at + 4 * i));
    device::fence_async();
    device::sync_block();
    load_rows<S>(a_.rows.tables, rows_);
    exchange::load_columns<S>(a_.rows.tables, columns_);
    const int vector = steps.group_at + 2 * (warp_ * kept.warp_lines / kept.group_lines);
    groups_ = {load_matrix(a_.rows.tables, vector), load_matrix(a_.rows.tables, vector + 1)};
    device::let_next_grid_begin();
    device::wait_for_previous_grid();
  }

  DANAUS_DEVICE Item item(int i) const {
    const int row = steps.item_rows * (items_.first + i);
    return {channel_, row, row * samples_to_next_row(a_.rows) + static_cast<long long>(channel_) * a_.rows.length};
  }

  // Slabs, by their number among all that this block reads: those of u (array 0) and of dy in turn.
  static DANAUS_DEVICE int array_of(int number) { return number % 2; }
  static DANAUS_DEVICE int slab_of(int number) { return number / 2 % steps.slabs; }
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
                     unit % steps.column_chunks);
    }
  }
  // Row 0 or 1 of what is kept of a slab.
  static DANAUS_DEVICE SharedAddress kept_at(int array, int slab, int row) {
    return layout.kept_begin + (array * kept.slabs + slab) * layout.kept_stride + row * kept.row_bytes;
  }
  // `share` is this block's: what it does not keep is not made.
  template <int share = 0>
  DANAUS_DEVICE void transform_unit(SharedAddress place, int array, int slab, int chunk) const {
    if constexpr (share + 1 < layout.key.shares)
      if (share != share_) return transform_unit<share + 1>(place, array, slab, chunk);
    const int unit = slab * steps.column_chunks + chunk;
    const RowTwiddles<S> own = exchange::load_unit<S>(a_.rows.tables, unit, false);
    const Column<S> column(place, place + steps.row_bytes, chunk);
    u32 re[steps.radix][8], im[steps.radix][8] = {};
    DANAUS_UNROLL
    for (int nr = 0; nr < steps.radix; ++nr) {
      column.load(0, nr, re[nr]);
      if constexpr (steps.pair) column.load(1, nr, im[nr]);
    }
    exchange::narrow_unit<S, false>(re, im, exponents_of(array) + 4 * unit);
    const Column<Kept> to(kept_at(array, slab, 0), kept_at(array, slab, 1), chunk);
    const auto store = [&](int kr, const Complex2(&x)[8]) {
      u32 re_out[8], im_out[8];
      DANAUS_UNROLL
      for (int i = 0; i < 8; ++i) re_out[i] = x[i].re, im_out[i] = x[i].im;
      to.store(0, kr % layout.kept_rows, re_out);
      to.store(1, kr % layout.kept_rows, im_out);
    };
    rows_there<S, false>(re, im, rows_, own, store, [](int kr) { return kr / layout.kept_rows == share; });
  }

  DANAUS_DEVICE exchange::LineTwiddles<Kept> twiddles_of(int line) const {  // of this warp's lines
    Words<4> w[kept.line_vectors];
    DANAUS_UNROLL
    for (int v = 0; v < kept.line_vectors; ++v) {
      const int vector = (warp_ * kept.warp_lines % kept.group_lines + line) * kept.line_vectors + v;
      w[v] = device::load_shared<16>(layout.table_begin + 512 * vector + 16 * device::lane_index());
    }
    return exchange::LineTwiddles<Kept>(w);
  }
  DANAUS_DEVICE int first_pair(int batch) const { return warp_ * kept.pairs_per_warp + batch * kept.tuning.pairs; }

  // A batch of lines of one array, transformed.
  DANAUS_DEVICE void transform_batch(int array, int batch, const u32 (&unit_scales)[kept.slabs],
                                     exchange::LinePairs<Kept>& x) const {
    exchange::LinePlaces<Kept> at;
    exchange::PairTwiddles<Kept> own;
    exchange::load_lines<Kept>([&](int slab, int row) { return kept_at(array, slab, row); }, first_pair(batch),
                               unit_scales, at, x);
    exchange::transform_lines<Kept>(
        columns_, [&](int line) { return twiddles_of(2 * batch * kept.tuning.pairs + line); }, own, x);
    DANAUS_UNROLL
    for (int p = 0; p < kept.tuning.pairs; ++p) {
      DANAUS_UNROLL
      for (int s = 0; s < kept.slabs; ++s) from_left<false>(groups_.n4, x[p][0][s], x[p][1][s]);
    }
  }

  // Step B of both arrays, and what they give.
  DANAUS_DEVICE void accumulate() {
    u32 of_u[kept.slabs] = {}, of_dy[kept.slabs] = {};
    float factor = 1;
    if constexpr (kept.scaled)
      factor = scaled::power_of_two(exchange::scale_units<Kept>(exponents_of(0), of_u)) *
               scaled::power_of_two(exchange::scale_units<Kept>(exponents_of(1), of_dy));
    DANAUS_UNROLL
    for (int batch = 0; batch < kept.batches; ++batch) {
      exchange::LinePairs<Kept> u, dy;
      transform_batch(0, batch, of_u, u);
      transform_batch(1, batch, of_dy, dy);
      DANAUS_UNROLL
      for (int i = 0; i < kVectors; ++i) {
        DANAUS_UNROLL
        for (int line = 0; line < 2; ++line)
          sums_[batch][i][line].template add<kept.scaled>(u[i / kept.slabs][line][i % kept.slabs],
                                                          dy[i / kept.slabs][line][i % kept.slabs], factor);
      }
    }
  }

  DANAUS_DEVICE void store() const {
    const long long row = (static_cast<long long>(part_) * a_.rows.channels + channel_) * layout.key.shares + share_;
    float* const sums = a_.sums + 2 * row * kept.size;
    DANAUS_UNROLL
    for (int batch = 0; batch < kept.batches; ++batch) {
      DANAUS_UNROLL
      for (int i = 0; i < kVectors; ++i) {
        const int vector = (first_pair(batch) + i / kept.slabs) * kept.slabs + i % kept.slabs;
        DANAUS_UNROLL
        for (int line = 0; line < 2; ++line) sums_[batch][i][line].store(sums, vector, line);
      }
    }
  }

  const CorrelationArguments& a_;
  const bool in_bulk_, leader_;
  const int warp_, share_, part_, channel_;
  const ItemRange items_;
  int fetched_ = 0;
  RowConstants<S> rows_;
  exchange::Constants<Kept> columns_;
  exchange::GroupMatrices groups_;
  ComplexSums sums_[kept.batches][kVectors][2];
};

template <class P, Path path>
DANAUS_DEVICE void run(const CorrelationArguments& a) {
  Block<P, path>(a).run();
}

}  // namespace danaus::correlate_exchange::inline DANAUS_BACKEND
