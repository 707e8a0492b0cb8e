// correlate_exchange: the sums over a channel's rows of conj(U) dY, of which the filter's gradient is the inverse
// transform; N = 64 r x columns.
//
// source     exchange/kernel.hpp, steps A and B up to where the spectrum would come
// index      the exchange's; the sums stand where sum_index() says
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
};

template <class P>
class Block {
 public:
  DANAUS_DEVICE explicit Block(const CorrelationArguments& a)
      : a_(a),
        warp_(device::warp_index()),
        channel_(device::block_index() / a.parts),
        part_(device::block_index() % a.parts),
        items_(a.items_of(part_)) {}

  DANAUS_DEVICE void run() {
    prepare();
    DANAUS_UNROLL
    for (int i = 0; i < layout.tuning.ring - 1; ++i) load(i, i);
    int place = 0;
    for (int i = 0; i < items_.count; ++i) {
      device::copy_async_wait<layout.tuning.ring - 2>();
      device::sync_block();  // and the item before this one has been read
      load(i + layout.tuning.ring - 1, place == 0 ? layout.tuning.ring - 1 : place - 1);
      transform(place);
      device::sync_block();
      accumulate(place);
      if (++place == layout.tuning.ring) place = 0;
    }
    device::copy_async_wait<0>();
    store();
  }

 private:
  static constexpr Layout layout = P::layout;
  using S = typename P::Steps;
  static constexpr auto steps = S::layout;
  using Worker = exchange::BlockWorker<layout.threads>;
  static constexpr int kVectors = steps.tuning.pairs * steps.slabs;
  static DANAUS_DEVICE SharedAddress exponents_of(int array) { return steps.exponents_begin + 4 * steps.units * array; }

  DANAUS_DEVICE void prepare() {
    for (int i = device::thread_index(); i < steps.table_bytes / 16; i += layout.threads)
      device::store_shared<16>(steps.table_begin + 16 * i,
                               device::load_constant<16>(a_.rows.tables + 128 * steps.shared_table + 4 * i));
    exchange::load_constants<S>(a_.rows.tables, constants_);
    const int vector = steps.group_at + 2 * (warp_ * steps.warp_lines / steps.group_lines);
    groups_ = {load_matrix(a_.rows.tables, vector), load_matrix(a_.rows.tables, vector + 1)};
    device::let_next_grid_begin();
    device::wait_for_previous_grid();
  }

  DANAUS_DEVICE Item item(int i) const {
    const int row = steps.item_rows * (items_.first + i);
    return {channel_, row, row * samples_to_next_row(a_.rows) + static_cast<long long>(channel_) * a_.rows.length};
  }
  // Row 0 or 1 of a slab of u (array 0) or dy.
  static DANAUS_DEVICE SharedAddress row_at(int place, int array, int slab, int row) {
    return layout.slabs_begin + (2 * place + array) * layout.array_stride + slab * layout.slab_stride +
           row * steps.row_bytes;
  }
  DANAUS_DEVICE void load(int i, int place) const {
    if (i < items_.count) DANAUS_UNROLL
    for (int slab = 0; slab < steps.slabs; ++slab) {
      copy_gated_slab_by_threads<S, Worker>(a_.rows, a_.rows.u, a_.rows.pregate, item(i), slab,
                                            row_at(place, 0, slab, 0));
      copy_gated_slab_by_threads<S, Worker>(a_.rows, a_.dy, a_.rows.postgate, item(i), slab, row_at(place, 1, slab, 0));
    }
    device::copy_async_commit();
  }

  // Step A of both arrays.
  DANAUS_DEVICE void transform(int place) const {
    DANAUS_UNROLL_BY(1)
    for (int unit = warp_; unit < steps.units; unit += steps.tuning.warps) {
      const RowTwiddles<S> own = exchange::load_unit<S>(a_.rows.tables, unit, false);
      DANAUS_UNROLL_BY(1)
      for (int array = 0; array < 2; ++array) {
        const int slab = unit / steps.column_chunks;
        const Column<S> column(row_at(place, array, slab, 0), row_at(place, array, slab, 1),
                               unit % steps.column_chunks);
        exchange::transform_column<S, false>(a_.rows, column, {}, constants_, own, {}, exponents_of(array) + 4 * unit,
                                             [](int, int, Words<4> words) { return words; });
      }
    }
  }

  DANAUS_DEVICE exchange::LineTwiddles<S> twiddles_of(int line) const {  // of this warp's lines
    Words<4> w[steps.line_vectors];
    DANAUS_UNROLL
    for (int v = 0; v < steps.line_vectors; ++v) {
      const int vector = (warp_ * steps.warp_lines % steps.group_lines + line) * steps.line_vectors + v;
      w[v] = device::load_shared<16>(steps.table_begin + 512 * vector + 16 * device::lane_index());
    }
    return exchange::LineTwiddles<S>(w);
  }
  DANAUS_DEVICE int first_pair(int batch) const { return warp_ * steps.pairs_per_warp + batch * steps.tuning.pairs; }

  // A batch of lines of one array, transformed.
  DANAUS_DEVICE void transform_batch(int place, int array, int batch, const u32 (&unit_scales)[steps.slabs],
                                     exchange::LinePairs<S>& x) const {
    exchange::LinePlaces<S> at;
    exchange::PairTwiddles<S> own;
    exchange::load_lines<S>([&](int slab, int row) { return row_at(place, array, slab, row); }, first_pair(batch),
                            unit_scales, at, x);
    exchange::transform_lines<S>(
        constants_, [&](int line) { return twiddles_of(2 * batch * steps.tuning.pairs + line); }, own, x);
    DANAUS_UNROLL
    for (int p = 0; p < steps.tuning.pairs; ++p) {
      DANAUS_UNROLL
      for (int s = 0; s < steps.slabs; ++s) from_left<false>(groups_.n4, x[p][0][s], x[p][1][s]);
    }
  }

  // Step B of both arrays, and what they give.
  DANAUS_DEVICE void accumulate(int place) {
    u32 of_u[steps.slabs] = {}, of_dy[steps.slabs] = {};
    float factor = 1;
    if constexpr (steps.scaled)
      factor = scaled::power_of_two(exchange::scale_units<S>(exponents_of(0), of_u)) *
               scaled::power_of_two(exchange::scale_units<S>(exponents_of(1), of_dy));
    DANAUS_UNROLL
    for (int batch = 0; batch < steps.batches; ++batch) {
      exchange::LinePairs<S> u, dy;
      transform_batch(place, 0, batch, of_u, u);
      transform_batch(place, 1, batch, of_dy, dy);
      DANAUS_UNROLL
      for (int i = 0; i < kVectors; ++i) {
        DANAUS_UNROLL
        for (int line = 0; line < 2; ++line)
          sums_[batch][i][line].template add<steps.scaled>(u[i / steps.slabs][line][i % steps.slabs],
                                                           dy[i / steps.slabs][line][i % steps.slabs], factor);
      }
    }
  }

  DANAUS_DEVICE void store() const {
    float* const sums = a_.sums + 2 * (static_cast<long long>(part_) * a_.rows.channels + channel_) * layout.size;
    DANAUS_UNROLL
    for (int batch = 0; batch < steps.batches; ++batch) {
      DANAUS_UNROLL
      for (int i = 0; i < kVectors; ++i) {
        const int vector = (first_pair(batch) + i / steps.slabs) * steps.slabs + i % steps.slabs;
        DANAUS_UNROLL
        for (int line = 0; line < 2; ++line) sums_[batch][i][line].store(sums, vector, line);
      }
    }
  }

  const CorrelationArguments& a_;
  const int warp_, channel_, part_;
  const ItemRange items_;
  exchange::Constants<S> constants_;
  exchange::GroupMatrices groups_;
  ComplexSums sums_[steps.batches][kVectors][2];
};

template <class P, Path path>
DANAUS_DEVICE void run(const CorrelationArguments& a) {
  Block<P>(a).run();
}

}  // namespace danaus::correlate_exchange::inline DANAUS_BACKEND
