// chain_gradient: the sums over a channel's rows of conj(U) dY, of which the filter's gradient is the inverse
// transform, with the whole FFT in one warp's registers, N = 256 r.
//
// source     chain/kernel.hpp, its steps up to where the spectrum would come
// index      the chain's; the sums stand where sum_index() says
// shapes     u, dy, gates [B, H, L], L <= N; one warp takes a part of a channel's items, and of each two batch rows
//            (pair fold) or one row (right angle)
// gates      bulk copies bring them to the place of the ring behind their item's; where threads copy, they multiply
// all        the gradients of rows, as exchange_gradient/kernel.hpp has them; their convolutions take the place of
//            what they are made of
// fold, types, scaling, order, error   as exchange_gradient/kernel.hpp has them
// reference  reference/convolution/gradient.hpp   test   tests/kernels/backward_test.cpp
#pragma once

#include "kernels/families/chain/kernel.hpp"
#include "kernels/families/chain_gradient/layout.hpp"
#include "kernels/memory/energies.hpp"
#include "kernels/memory/gradients.hpp"
#include "kernels/product/accumulate.hpp"

namespace danaus::chain_gradient::inline DANAUS_BACKEND {

template <Key key, Tuning tuning>
struct Shape {
  static constexpr Layout layout{key, tuning};
  static_assert(!layout.broken_rule(), "tunings.hpp has a line that Layout::broken_rule() refuses");
  using Steps = chain::Shape<layout.steps.key, layout.steps.tuning>;
};

template <class P, Path path>
class Warp {
 public:
  DANAUS_DEVICE explicit Warp(const CorrelationArguments& a)
      : a_(a),
        in_bulk_(path == Path::any ? a.rows.transfer == Transfer::tensor : path == Path::tensor),
        leader_(device::lane_index() == 0),
        pregate_(in_bulk_ && a.rows.pregate),
        postgate_(in_bulk_ && a.rows.postgate),
        places_(pregate_ || postgate_ ? 2 : 1),
        barriers_(layout.barriers_begin + 8 * device::warp_index() * layout.tuning.ring),
        slabs_(layout.slabs_begin + 2 * device::warp_index() * layout.tuning.ring * layout.array_stride) {
    const int worker = device::block_index() * layout.tuning.warps + device::warp_index();
    channel_ = worker / a.parts, part_ = worker % a.parts;
    items_ = channel_ < a.rows.channels ? a.items_of(part_) : ItemRange{0, 0};
  }

  DANAUS_DEVICE void run() {
    prepare();
    const int ahead = layout.tuning.ring / places_ - 1;
    for (int i = 0; i < ahead; ++i) load(i, i * places_);
    int place = 0;
    u32 parity = 0;
    for (int i = 0; i < items_.count; ++i) {
      device::sync_warp();  // the item before this one has been read
      load(i + ahead, (place == 0 ? layout.tuning.ring : place) - places_);
      if (in_bulk_) {
        device::barrier_wait(barriers_ + 8 * place, parity);
      } else {
        device::copy_async_wait<layout.tuning.ring - 1>();
        device::sync_warp();
      }
      Tiles u[r], dy[r];
      const float factor = transform(i, place, 0, u);
      const float other = transform(i, place, 1, dy);
      DANAUS_UNROLL
      for (int n = 0; n < 4 * r; ++n)
        sums_[n].template add<steps.scaled>(u[n / 4][n / 2 % 2][n % 2], dy[n / 4][n / 2 % 2][n % 2], factor * other);
      if constexpr (layout.key.all) {
        device::sync_warp();  // without it the compiler asks for the spectrum before the transforms, and spills
        if (a_.rows.postgate) convolve<false>(i, u, slab_at(place, 0));
        convolve<true>(i, dy, slab_at(place, 1));
        const float factors[2] = {factor * spectrum_factor_, other * spectrum_factor_};
        device::fence_async();  // a later item's samples come there by bulk copies
        device::sync_warp();
        store_gradients<S, chain::WarpWorker, path>(
            a_, item(i), factors, [&](int, int row) { return slab_at(place, 0) + row * steps.row_bytes; },
            layout.array_stride, GatesFromMemory<path>{a_});
      }
      if ((place += places_) == layout.tuning.ring) place = 0, parity ^= 1;
    }
    if (!in_bulk_) device::copy_async_wait<0>();
    if (channel_ < a_.rows.channels) store();
  }

 private:
  static constexpr Layout layout = P::layout;
  using S = typename P::Steps;
  static constexpr auto steps = S::layout;
  static constexpr int r = steps.radix;
  using Tiles = chain::Tiles;

  DANAUS_DEVICE void prepare() {
    if constexpr (steps.outer_vectors > 0)
      for (int i = device::thread_index(); i < 32 * steps.outer_vectors; i += layout.threads)
        device::store_shared<16>(16 * i, device::load_constant<16>(a_.rows.tables + 128 * steps.outer_at + 4 * i));
    chain::load_constants<S>(a_.rows.tables, constants_);
    if (in_bulk_ && leader_)
      for (int i = 0; i < layout.tuning.ring; ++i) device::barrier_init(barriers_ + 8 * i, 1);
    device::fence_async();
    device::sync_block();
    device::let_next_grid_begin();
    device::wait_for_previous_grid();
    if constexpr (layout.key.all)
      if (a_.rows.spectrum_factors && channel_ < a_.rows.channels)
        spectrum_factor_ = float_of(device::load_global<4>(a_.rows.spectrum_factors + channel_)[0]);
  }
  DANAUS_DEVICE Item item(int i) const {
    const int row = steps.item_rows * (items_.first + i);
    return {channel_, row};
  }

  // Gates that bulk copies bring stand where the next item's arrays would.
  DANAUS_DEVICE bool has_gate(int array) const { return array == 0 ? pregate_ : postgate_; }
  DANAUS_DEVICE SharedAddress slab_at(int place, int array) const {
    return slabs_ + (2 * place + array) * layout.array_stride;
  }
  DANAUS_DEVICE void load(int i, int place) const {
    if (i < items_.count && (!in_bulk_ || leader_)) {
      const Item from = item(i);
      const SharedAddress barrier = barriers_ + 8 * place;
      if (in_bulk_) device::barrier_expect(barrier, (2 + pregate_ + postgate_) * steps.item_rows * steps.row_bytes);
      const auto copy = [&](int array, const TensorMap& map, const TensorMap& gate_map, const void* rows,
                            const RowStrides& strides, const void* gate, const RowStrides& gate_strides) {
        const auto copy_in_bulk = [&](const TensorMap& of, int to) {
          copy_slab<S>(a_.rows, Path::tensor, of, a_.rows.u_line, from, 0, slab_at(to, array), barrier);
        };
        if (in_bulk_) {
          copy_in_bulk(map, place);
          if (has_gate(array)) copy_in_bulk(gate_map, place + 1);
        } else if constexpr (path != Path::tensor) {
          copy_gated_slab_by_threads<S, chain::WarpWorker>(a_.rows, rows, strides, gate, gate_strides, from, 0,
                                                           slab_at(place, array));
        }
      };
      copy(0, a_.rows.u_map, a_.rows.pregate_map, a_.rows.u, a_.rows.u_strides, a_.rows.pregate,
           a_.rows.pregate_strides);
      copy(1, a_.rows.y_map, a_.rows.postgate_map, a_.dy, a_.dy_strides, a_.rows.postgate, a_.rows.postgate_strides);
    }
    if (!in_bulk_) device::copy_async_commit();
  }

  DANAUS_DEVICE float* energies_of(int i, int array) const {
    return a_.energies_of(array, channel_, items_.first + i, 1, 0);
  }

  // One array of the i-th item; returns what it was divided by.
  DANAUS_DEVICE float transform(int i, int place, int array, Tiles (&x)[r]) const {
    Words<4> re[r], im[r] = {};
    const auto visit_tiles = [&](int at, auto visit) {
      DANAUS_UNROLL
      for (int nr = 0; nr < r; ++nr) {
        visit(re[nr], chain::load_tile<S>(slab_at(at, array), 0, nr));
        if constexpr (steps.pair) visit(im[nr], chain::load_tile<S>(slab_at(at, array), 1, nr));
      }
    };
    visit_tiles(place, [](Words<4>& tile, Words<4> samples) { tile = samples; });
    if (has_gate(array))
      visit_tiles(place + 1, [](Words<4>& tile, Words<4> gate) { tile = gated<steps.dtype>(tile, gate); });
    float factor = 1;
    if constexpr (steps.scaled)
      factor = scaled::power_of_two(scaled::narrow_all([&](auto visit) {
        DANAUS_UNROLL
        for (int nr = 0; nr < r; ++nr) {
          DANAUS_UNROLL
          for (int m = 0; m < 4; ++m) {
            visit(re[nr][m]);
            if constexpr (steps.pair) visit(im[nr][m]);
          }
        }
      }));
    if constexpr (has_energies<S>) {
      const range::Energies of_item = unit_energies<S>(re, im, factor);
      if (a_.energies) store_energies(energies_of(i, array), of_item);
    }
    chain::samples_there<S>(re, im, constants_, x);
    if constexpr (steps.outer_vectors > 0) chain::outer_twiddles<S, false>(x);
    DANAUS_UNROLL
    for (int kr = 0; kr < r; ++kr) {
      chain::rows_there<S>(constants_, x[kr]);
      columns_there(x[kr], constants_.dft, constants_.inner);
    }
    return factor;
  }

  // The convolution of what has become x, without what the samples were divided by, to the slab at `to`.
  template <bool conjugate>
  DANAUS_DEVICE void convolve(int i, Tiles (&x)[r], SharedAddress to) const {
    DANAUS_UNROLL
    for (int kr = 0; kr < r; ++kr) {
      const auto spectrum = [&](int vector) {
        return device::load_global<16>(a_.rows.spectrum + static_cast<long long>(channel_) * layout.size +
                                       4 * (32 * vector + device::lane_index()));
      };
      const Words<4> of_row[2] = {spectrum(2 * kr), spectrum(2 * kr + 1)};
      columns_back<conjugate>(x[kr], constants_.dft, constants_.inner_back, of_row);
      if constexpr (!steps.real_rows)
        from_left<true>(constants_.dft, x[kr][0][0], x[kr][1][0], x[kr][0][1], x[kr][1][1]);
    }
    if constexpr (steps.outer_vectors > 0) chain::outer_twiddles<S, true>(x);
    Words<4> re[r], im[r];
    if constexpr (steps.real_rows)
      chain::real_rows_back<S>(x[0], constants_, re[0]);
    else
      chain::transform_blocks_back<S>(x, re, im);
    if constexpr (!steps.scaled)
      if (has_overflow<S>(re, im) && a_.energies) note_overflow(energies_of(i, conjugate));
    DANAUS_UNROLL
    for (int nr = 0; nr < r; ++nr) {
      device::store_matrices<4, true>(to + chain::matrix_address<S>(0, nr), re[nr]);
      if constexpr (steps.pair) device::store_matrices<4, true>(to + chain::matrix_address<S>(1, nr), im[nr]);
    }
  }

  DANAUS_DEVICE void store() const {
    float* const sums = a_.sums + 2 * (static_cast<long long>(part_) * a_.rows.channels + channel_) * layout.size;
    DANAUS_UNROLL
    for (int n = 0; n < 4 * r; ++n) sums_[n].store(sums, n / 2, n % 2);
  }

  const CorrelationArguments& a_;
  const bool in_bulk_, leader_, pregate_, postgate_;  // gates come through the ring
  const int places_;                                  // of it, of an item
  const SharedAddress barriers_, slabs_;              // of the warp's ring
  int channel_, part_;
  ItemRange items_;
  chain::Constants<S> constants_;
  ComplexSums sums_[4 * r];
  float spectrum_factor_ = 1;  // the channel's
};

template <class P, Path path>
DANAUS_DEVICE void run(const CorrelationArguments& a) {
  Warp<P, path>(a).run();
}

}  // namespace danaus::chain_gradient::inline DANAUS_BACKEND
