// chain: y = v * conv(w * u, k) with the whole FFT in one warp's registers, N = 256 r.
//
// source     the register chain of FlashFFTConv (Fu et al. 2023, algorithm 1) with a radix r over tiles on top
// index      n = 256 nr + 16 n1 + n2,  k = kr + r (k1 + 16 k2);  nr, kr < r;  n1, n2, k1, k2 < 16
// shapes     u, y, gates [B, H, L], L <= N; one warp takes two batch rows (pair fold) or one row (right angle)
// types      samples f16 or bf16; arithmetic f16, which rounds every product of matrices; bf16 samples become f16 by a
//            power of two of their own (tile/scaled.hpp): of an item
// range      a first walk over a warp's items notes those whose energies a transform has no room for, or of whose rows
//            one is much quieter (tile/range.hpp); a second one computes these with a power of two for each row
// scaling    unitary up to a power of two; the power is in the DFT matrices, the rest in the spectrum
// steps      radix r over nr | twiddle | DFT16 over n1 | twiddle | DFT16 over n2 | spectrum | and back
// tile       x[nr][i][j]: rows 8 i + 2t+e, columns 8 j + g of the 16 x 16 block nr
// sparse     of a masked spectrum a channel keeps live pieces (product/slots.hpp); blocks kr without a live frequency
//            are left out behind the radix over nr
// resources  no block barrier; a ring of slabs a warp: layout.hpp
// error      bound_l2_of_kernel(case, Family::roundings(layout))
// reference  reference/convolution/convolve.hpp   test   tests/kernels/families_test.cpp
#pragma once

#include "kernels/families/chain/layout.hpp"
#include "kernels/memory/scaled_rows.hpp"
#include "kernels/memory/short_filters.hpp"
#include "kernels/memory/walks.hpp"
#include "kernels/product/multiply.hpp"
#include "kernels/tile/radix.hpp"
#include "kernels/tile/scaled.hpp"

namespace danaus::chain::inline DANAUS_BACKEND {

struct WarpWorker {
  static constexpr int kThreads = 32;
  static DANAUS_DEVICE int index() { return device::lane_index(); }
};

// A kernel's layout, and where its samples lie.
template <Key key, Tuning tuning>
struct Shape {
  static constexpr Layout layout{key, tuning};
  using Arguments = std::conditional_t<key.filtered, FilteredArguments, ConvolutionArguments>;
  static_assert(!layout.broken_rule(), "tunings.hpp has a line that Layout::broken_rule() refuses");

  static DANAUS_DEVICE void tensor_at(Item item, int, int (&at)[5]) {
    at[0] = at[1] = at[2] = 0, at[3] = item.channel, at[4] = item.row;
  }
};

using Tiles = Tiles256;

struct Nothing {};

// Lane's address of the x4 matrices (i, j) of block nr of a row: n1 = 8 i + lane % 8, chunks of 8 samples n2 = 8 j. Two
// rows are as long as a whole number of swizzled patterns. Blocks are half a pattern, so that what one adds to the
// address of another is known.
template <class P>
DANAUS_DEVICE SharedAddress matrix_address(int row, int nr) {
  const int lane = device::lane_index(), matrix = lane / 8;
  return row / 2 * 2 * P::layout.row_bytes +
         swizzled(row % 2 * P::layout.row_bytes + 16 * (32 * nr + 2 * (8 * (matrix / 2) + lane % 8) + matrix % 2));
}
template <class P>
DANAUS_DEVICE SharedAddress matrix_address(SharedAddress first, int row, int nr) {
  constexpr int kBlock = 512;
  const int block = row * P::layout.radix + nr;
  return (first ^ (block % 2 * 0x40)) + kBlock * block;
}

// The same of matrices that an instruction loads of two rows: rows' tiles j of block 0, i = 0.
template <class P>
DANAUS_DEVICE SharedAddress pair_address() {
  const int lane = device::lane_index(), matrix = lane / 8;
  return swizzled(matrix % 2 * P::layout.row_bytes + 16 * (2 * (lane % 8) + matrix / 2));
}

template <class P>
struct Constants {
  Matrix16 dft;
  Complex2 inner[2][2], inner_back[2][2];  // as convolve_tiles has them
  RealMatrix<2> real, real_back;           // DFT16 n1, where data is real
};

template <class P>
DANAUS_DEVICE void load_twiddle(const u32* tables, int at, Complex2 (&twiddle)[2][2]) {
  DANAUS_UNROLL
  for (int i = 0; i < 2; ++i) {
    const Words<4> w = load_lane_words(tables, at + i);
    DANAUS_UNROLL
    for (int j = 0; j < 2; ++j) twiddle[i][j] = {w[2 * j], w[2 * j + 1]};
  }
}

template <class P>
DANAUS_DEVICE void load_constants(const u32* tables, Constants<P>& c) {
  DANAUS_UNROLL
  for (int b = 0; b < 4; ++b) c.dft.block[b / 2][b % 2] = load_matrix(tables, P::layout.matrix_at + b);
  load_twiddle<P>(tables, P::layout.inner_at, c.inner);
  load_twiddle<P>(tables, P::layout.real_rows ? P::layout.inner_back_at : P::layout.inner_at,
                  c.inner_back);  // symmetric without weights
  if constexpr (P::layout.real_rows)
    load_real(tables, P::layout.real_at, c.real),
        load_real(tables, P::layout.real_at + P::layout.real_vectors, c.real_back);
}

template <class P>
DANAUS_DEVICE Words<4> load_tile(SharedAddress slab, int row, int nr) {
  return device::load_matrices<4, true>(slab + matrix_address<P>(row, nr));
}
// Of two rows. Each instruction loads tiles of both, so that registers are in the order of a product's operands.
// `first` is pair_address().
template <class P>
DANAUS_DEVICE void load_tiles(SharedAddress slab, SharedAddress first, int nr, Words<4>& re, Words<4>& im) {
  DANAUS_UNROLL
  for (int i = 0; i < 2; ++i) {
    const SharedAddress line = first ^ (i * 0x120) ^ (nr % 2 * 0x40);
    const Words<4> words = device::load_matrices<4, true>(slab + line + 512 * nr);
    re[2 * i] = words[0], im[2 * i] = words[1], re[2 * i + 1] = words[2], im[2 * i + 1] = words[3];
  }
}

// DFT16 n1 of one block of real samples.
template <class P>
DANAUS_DEVICE void transform_real_rows(const Words<4>& re, const Constants<P>& c, Tiles& x) {
  DANAUS_UNROLL
  for (int i = 0; i < 2; ++i) {
    DANAUS_UNROLL
    for (int j = 0; j < 2; ++j) x[i][j] = real_from_right<2>(c.real, i, {re[j], re[2 + j]});
  }
}

// The real part of the inverse.
template <class P>
DANAUS_DEVICE void real_rows_back(const Tiles& x, const Constants<P>& c, Words<4>& out) {
  DANAUS_UNROLL
  for (int i = 0; i < 2; ++i)
    real_from_left<2>(c.real_back, i, {x[0][0], x[1][0]}, {x[0][1], x[1][1]}, false, out[2 * i], out[2 * i + 1]);
}

// What an imaginary part of the samples of tile (0, 0) of block 0 adds to the DFT over blocks, or over the rows of one
// block; and that part of the inverse.
template <class P>
DANAUS_DEVICE void add_imaginary(u32 tile, const Constants<P>& c, Tiles (&x)[P::layout.radix]) {
  DANAUS_UNROLL
  for (int i = 0; i < 2; ++i) {
    if constexpr (P::layout.real_rows) {
      const Complex2 turned = real_from_right<2>(c.real, i, {tile, 0});
      x[0][i][0] = add(x[0][i][0], {device::negate2(turned.im), turned.re});
    } else if (i == 0) {
      DANAUS_UNROLL
      for (int kr = 0; kr < P::layout.radix; ++kr) x[kr][0][0].im = device::add2(x[kr][0][0].im, tile);
    }
  }
}
template <class P>
DANAUS_DEVICE u32 imaginary_back(const Tiles (&x)[P::layout.radix], const Constants<P>& c) {
  u32 tile = x[0][0][0].im;
  if constexpr (P::layout.real_rows) {
    u32 unused;
    real_from_left<2>(c.real_back, 0, {x[0][0][0], x[0][1][0]}, {x[0][0][1], x[0][1][1]}, true, tile, unused);
  } else {
    DANAUS_UNROLL
    for (int kr = 1; kr < P::layout.radix; ++kr) tile = device::add2(tile, x[kr][0][0].im);
  }
  return tile;
}

template <class P, bool inverse>
DANAUS_DEVICE void outer_twiddles(Tiles (&x)[P::layout.radix]) {
  DANAUS_UNROLL
  for (int kr = P::layout.pair ? 1 : 0; kr < P::layout.radix; ++kr) {
    DANAUS_UNROLL
    for (int i = 0; i < 2; ++i) {
      const Words<4> w = device::load_shared<16>(512 * (2 * kr + i) + 16 * device::lane_index());
      DANAUS_UNROLL
      for (int j = 0; j < 2; ++j) x[kr][i][j] = times<inverse>(x[kr][i][j], {w[2 * j], w[2 * j + 1]});
    }
  }
}

// The radix over blocks, from samples to tiles: of real samples with the weights of the right angle.
template <class P>
DANAUS_DEVICE void transform_blocks(const Words<4> (&re)[P::layout.radix], const Words<4> (&im)[P::layout.radix],
                                    Tiles (&x)[P::layout.radix]) {
  DANAUS_UNROLL
  for (int m = 0; m < 4; ++m) {
    u32 re_of[P::layout.radix], im_of[P::layout.radix];
    Complex2 z[P::layout.radix];
    DANAUS_UNROLL
    for (int nr = 0; nr < P::layout.radix; ++nr) re_of[nr] = re[nr][m], im_of[nr] = im[nr][m];
    samples_to_radix<P::layout.pair>(re_of, im_of, z);
    DANAUS_UNROLL
    for (int kr = 0; kr < P::layout.radix; ++kr) x[kr][m / 2][m % 2] = z[kr];
  }
}

// The inverse; of the right angle the real part alone.
template <class P>
DANAUS_DEVICE void transform_blocks_back(const Tiles (&x)[P::layout.radix], Words<4> (&re)[P::layout.radix],
                                         Words<4> (&im)[P::layout.radix]) {
  DANAUS_UNROLL
  for (int m = 0; m < 4; ++m) {
    Complex2 z[P::layout.radix];
    DANAUS_UNROLL
    for (int kr = 0; kr < P::layout.radix; ++kr) z[kr] = x[kr][m / 2][m % 2];
    u32 re_of[P::layout.radix], im_of[P::layout.radix] = {};
    radix_to_samples<P::layout.pair>(z, re_of, im_of);
    DANAUS_UNROLL
    for (int nr = 0; nr < P::layout.radix; ++nr) re[nr][m] = re_of[nr], im[nr][m] = im_of[nr];
  }
}

// The DFT from samples up to the stage over n1, of kr what its own product leaves to do.
template <class P>
DANAUS_DEVICE void samples_there(const Words<4> (&re)[P::layout.radix], const Words<4> (&im)[P::layout.radix],
                                 const Constants<P>& c, Tiles (&x)[P::layout.radix]) {
  if constexpr (P::layout.real_rows) {
    transform_real_rows<P>(re[0], c, x[0]);
  } else {
    transform_blocks<P>(re, im, x);
  }
}
template <class P>
DANAUS_DEVICE void rows_there(const Constants<P>& c, Tiles& x) {
  if constexpr (!P::layout.real_rows) {
    DANAUS_UNROLL
    for (int j = 0; j < 2; ++j) from_right<false>(c.dft, x[0][j], x[1][j]);
  }
}

// One warp of the kernel: its items, one after the other, through its own ring of slabs.
template <class P, Path path>
class Warp {
 public:
  using Arguments = typename P::Arguments;
  DANAUS_DEVICE explicit Warp(const Arguments& a)
      : a_(a),
        path_(path == Path::any ? path_of(a.transfer) : path),
        leader_(device::lane_index() == 0),
        slabs_(layout.slabs_begin + device::warp_index() * layout.tuning.ring * layout.slab_bytes),
        barriers_(layout.barriers_begin + device::warp_index() * layout.tuning.ring * 8),
        items_(a.division.of(device::block_index() * layout.tuning.warps + device::warp_index(),
                             device::block_count() * layout.tuning.warps, a.channels)),
        first_(device::held(matrix_address<P>(0, 0))),
        pair_(device::held(pair_address<P>())),
        fetch_item_(item_at<P>(a, items_.first)) {}

  DANAUS_DEVICE void run() {
    prepare();
    for (int i = 0; i < kAhead; ++i) fetch();
    Item item = item_at<P>(a_, items_.first);
    int place = 0;
    u32 parity = 0;
    for (int number = 0; number < items_.count; ++number) {
      const SharedAddress slab = slab_at(place);
      hold_spectrum(item.channel);
      if (has_beyond()) beyond_ = load_beyond(item);
      wait_for(place, parity);
      if constexpr (layout.filtered) filter(item, slab);
      Words<4> re[r], im[r] = {};  // four tiles each
      load(slab, re, im);
      if (is_enclosing()) cut(row_place(a_, a_.u_strides, Path::enclosing, item), re);
      int exponent = 0;
      if constexpr (layout.scaled) exponent = narrow(re, im);
      const Squares squares = squares_of(re, im);
      // A place is free once the store from it has been read: refill the one that an earlier item left.
      if (in_bulk() && leader_) device::store_wait_read<layout.lag>();
      if (path_ != Path::tensor) device::sync_warp();
      fetch();
      range::Verdict verdict;
      if constexpr (kJudges)  // here, where the transform's products hide what it waits for
        verdict = range::Judge<layout.dtype, layout.pair, 1>::judge(squares,
                                                                    limits_of<layout.dtype, false>(a_, item.channel));
      convolve(item.channel, re, im);
      float factor = 1;
      if constexpr (layout.scaled)
        factor = scaled::power_of_two(exponent) * spectrum_.factor(a_.spectrum_factors, item.channel);
      noted_.note(number,
                  verdict.refuses(item.row + 1 < a_.batch) | (layout.scaled && range::leaves_range(exponent, factor)));
      if (has_beyond()) store_beyond(item, factor, beyond_);
      store(item, slab, factor, re, im);
      advance<P>(a_, item);
      if (++place == layout.tuning.ring) place = 0, parity ^= 1;
    }
    if (in_bulk() && leader_) device::store_wait_read<0>();  // they read this block's shared memory
    if (noted_.any() && a_.rows_apart) Warp(a_).run_again(noted_);
  }

  // The second walk, for an object of its own: registers that outlive the first walk would spill there.
  DANAUS_DEVICE void run_again(NotedItems noted) {
    if (in_bulk() && leader_) device::store_wait<0>();
    device::fence_async_global();
    device::sync_warp();
    load_registers();
    noted.for_each(items_.count, [&](int number) { compute_again(item_at<P>(a_, items_.first + number)); });
  }

 private:
  static constexpr Layout layout = P::layout;
  // A lone row of bf16 has its own power of two anyway.
  static constexpr bool kJudges = layout.pair || layout.dtype == Dtype::f16;
  static constexpr int r = layout.radix;
  static constexpr int kAhead = layout.tuning.ring - 1 - layout.lag;  // items that are fetched before they are needed
  using Samples = Words<4>[r];
  using Squares = range::LaneSquares<(r > 1) + 1>;

  DANAUS_DEVICE SharedAddress slab_at(int place) const { return slabs_ + place * layout.slab_bytes; }
  DANAUS_DEVICE SharedAddress barrier_at(int place) const { return barriers_ + 8 * place; }
  DANAUS_DEVICE bool in_bulk() const { return path_ != Path::threads; }  // by copies that the leader issues
  DANAUS_DEVICE bool pregate() const { return layout.gated && a_.pregate; }
  DANAUS_DEVICE bool postgate() const { return layout.gated && a_.postgate; }
  DANAUS_DEVICE bool is_enclosing() const { return !layout.pair && encloses(path_); }
  DANAUS_DEVICE bool has_beyond() const { return !layout.pair && path_ == Path::overhang; }
  DANAUS_DEVICE bool has_live(int kr) const { return !layout.sparse || r == 1 || (live_ >> kr & 1); }

  // Outer twiddles into shared memory, barriers, constants into registers.
  DANAUS_DEVICE void prepare() {
    if constexpr (layout.outer_vectors > 0)
      for (int i = device::thread_index(); i < 32 * layout.outer_vectors; i += layout.threads)
        device::store_shared<16>(16 * i, device::load_constant<16>(a_.tables + 128 * layout.outer_at + 4 * i));
    if (leader_ && in_bulk())
      for (int i = 0; i < layout.tuning.ring; ++i) device::barrier_init(barrier_at(i), 1);
    device::fence_async();
    device::sync_block();
    load_registers();
    device::let_next_grid_begin();
    device::wait_for_previous_grid();
  }
  DANAUS_DEVICE void load_registers() {
    load_constants(a_.tables, constants_);
    spectrum_.begin({a_.spectrum, a_.tables});
    if constexpr (layout.sparse) {
      DANAUS_UNROLL
      for (int kr = 0; kr < r; ++kr)
        if ((LiveMarks<layout.marks_at>::of(a_.tables, 2 * kr).lanes |
             LiveMarks<layout.marks_at>::of(a_.tables, 2 * kr + 1).lanes) != 0)
          live_ |= 1u << kr;
    }
  }

  // And brings one of the next to L2: only where the channel changes, since to ask in fetch() takes 14 of the 207
  // instructions that N = 256 issues for an item.
  DANAUS_DEVICE void hold_spectrum(int channel) {
    if (!spectrum_.hold({a_.spectrum, a_.tables}, channel, [](int i) { return i; })) return;
    if (in_bulk() && leader_ && channel + kAhead < a_.channels)
      spectrum_.prefetch({a_.spectrum, a_.tables}, channel + kAhead);
  }

  // Asks for the next item that is not on its way.
  DANAUS_DEVICE void fetch() {
    if (fetched_ < items_.count && (!in_bulk() || leader_)) {
      const SharedAddress slab = slab_at(fetch_place_), barrier = barrier_at(fetch_place_);
      if (in_bulk())
        device::barrier_expect(barrier, (1 + pregate() + postgate()) * layout.item_rows * layout.row_bytes);
      const auto fetch_rows = [&](const TensorMap& map, const TensorMap& line, const void* rows,
                                  const RowStrides& strides, int row) {
        if (in_bulk())
          copy_slab<P>(a_, path_, map, line, fetch_item_, 0, slab + row * layout.row_bytes, barrier);
        else
          copy_slab_by_threads<P, WarpWorker>(a_, rows, strides, fetch_item_, 0, slab + row * layout.row_bytes);
      };
      fetch_rows(a_.u_map, a_.u_line, a_.u, a_.u_strides, 0);
      if (pregate()) fetch_rows(a_.pregate_map, a_.pregate_line, a_.pregate, a_.pregate_strides, layout.pregate_row);
      if (postgate())
        fetch_rows(a_.postgate_map, a_.postgate_line, a_.postgate, a_.postgate_strides, layout.postgate_row);
      advance<P>(a_, fetch_item_);
      ++fetched_;
      if (++fetch_place_ == layout.tuning.ring) fetch_place_ = 0;
    }
    device::copy_async_commit();
  }

  // Zeros where an enclosing copy brought what is not the row's: up to 7 samples before its first, and what follows its
  // last in the slab's part that is there. In registers: in the slab it takes 51 instructions and a barrier. With
  // store_row, an H200 takes 27.3 us instead of 31.6 for L=255 (B=64, H=768).
  DANAUS_DEVICE void cut(const RowPlace& row, Samples& re) const {
    const int g = device::lane_index() / 4, t = device::lane_index() % 4;
    DANAUS_UNROLL
    for (int nr = 0; nr < r; ++nr) {
      const int left = row.last - 256 * nr;
      if (left >= 256) continue;
      DANAUS_UNROLL
      for (int m = 0; m < 4; ++m) {
        const int n = 16 * (8 * (m / 2) + 2 * t) + 8 * (m % 2) + g;  // the other half's is 16 later
        re[nr][m] &= n + 16 < left ? ~0u : n < left ? 0xffffu : 0u;
      }
    }
    if (t == 0 && g < row.first) re[0][0] &= 0xffff0000u;
  }

  // The samples beyond N: this lane's of tile (0, 0), whose first row they are.
  DANAUS_DEVICE u32 load_beyond(Item item) const {
    const RowPlace row = row_place(a_, a_.u_strides, Path::enclosing, item);
    const int n = layout.size + device::lane_index() / 4;
    if (device::lane_index() % 4 != 0 || n >= row.last) return 0;
    const auto sample = [&](const void* rows) {
      return device::load_global<2>(static_cast<const std::uint16_t*>(rows) + row.begin + n)[0];
    };
    return pregate() ? device::mul2<layout.dtype>(sample(a_.u), sample(a_.pregate)) : sample(a_.u);
  }
  DANAUS_DEVICE void store_beyond(Item item, float factor, u32 tile) const {
    const RowPlace row = row_place(a_, a_.y_strides, Path::enclosing, item);
    const int n = layout.size + device::lane_index() / 4;
    if (device::lane_index() % 4 != 0 || n >= row.last) return;
    const long long of_gate = row_place(a_, a_.postgate_strides, Path::enclosing, item).begin;
    const auto* gates = static_cast<const std::uint16_t*>(a_.postgate) + of_gate + n;
    tile = postgate() ? scaled::samples_of<layout.dtype>(tile, factor, device::load_global<2>(gates)[0])
                      : scaled::samples_of<layout.dtype>(tile, factor);
    device::store_global<2>(static_cast<std::uint16_t*>(a_.y) + row.begin + n, {tile & 0xffff});
  }

  DANAUS_DEVICE void wait_for(int place, u32 parity) const {
    if (in_bulk()) {
      device::barrier_wait(barrier_at(place), parity);
    } else {
      device::copy_async_wait<kAhead - 1>();
      device::sync_warp();
    }
  }

  // Short filters over the item's rows in the slab. The pregate is in u then.
  DANAUS_DEVICE void filter(const Item& item, SharedAddress slab) {
    filters_.hold(a_, item.channel);
    const auto row_at = [=](int row) {
      return [=](int chunk) { return swizzled(slab + row * layout.row_bytes + 16 * chunk); };
    };
    constexpr FilteredBlocks kBlocks = {0, 2 * r - 1};
    DANAUS_UNROLL
    for (int row = 0; row < layout.item_rows; ++row) {
      if (item.row + row >= a_.batch) continue;
      const auto part = [&](int first) { return filtered_row<true>(kBlocks, false, row_at(first + row)); };
      filters_.filter(a_, kBlocks, part(0), part(layout.pregate_row));
      if (postgate()) filters_.filter_postgate(a_, kBlocks, part(layout.postgate_row));
    }
    device::sync_warp();
  }

  DANAUS_DEVICE void load_block(SharedAddress slab, int nr, Samples& re, Samples& im) const {
    if constexpr (layout.pair)
      load_tiles<P>(slab, pair_, nr, re[nr], im[nr]);
    else
      re[nr] = device::load_matrices<4, true>(slab + matrix_address<P>(first_, 0, nr));
  }
  DANAUS_DEVICE void store_block(SharedAddress slab, int nr, const Samples& re, const Samples& im) const {
    device::store_matrices<4, true>(slab + matrix_address<P>(first_, 0, nr), re[nr]);
    if constexpr (layout.pair) device::store_matrices<4, true>(slab + matrix_address<P>(first_, 1, nr), im[nr]);
  }

  DANAUS_DEVICE void load(SharedAddress slab, Samples& re, Samples& im) const {
    DANAUS_UNROLL
    for (int nr = 0; nr < r; ++nr) {
      load_block(slab, nr, re, im);
      if (layout.filtered || !pregate()) continue;
      for_each_word(slab, layout.pregate_row, nr, re[nr], im[nr],
                    [](u32 word, u32 gate) { return device::mul2<layout.dtype>(word, gate); });
    }
  }

  // By what makes the item's greatest sample one of 1 to 2; returns its exponent.
  DANAUS_DEVICE int narrow(Samples& re, Samples& im) {
    return scaled::narrow_all([&](auto visit) {
      DANAUS_UNROLL
      for (int nr = 0; nr < r; ++nr) {
        DANAUS_UNROLL
        for (int m = 0; m < 4; ++m) {
          visit(re[nr][m]);
          if constexpr (layout.pair) visit(im[nr][m]);
        }
      }
      if (has_beyond()) visit(beyond_);
    });
  }

  DANAUS_DEVICE Squares squares_of(const Samples& re, const Samples& im) const {
    Squares squares;
    DANAUS_UNROLL
    for (int nr = 0; kJudges && nr < r; ++nr) {
      DANAUS_UNROLL
      for (int m = 0; m < 4; ++m) {
        squares.template add<0>(re[nr][m], m);
        if constexpr (layout.pair) squares.template add<1>(im[nr][m], m);
      }
    }
    if (has_beyond()) squares.template add<0>(beyond_, 0);
    return squares;
  }
  DANAUS_DEVICE void compute_again(const Item& item) {
    const SharedAddress slab = slab_at(0);
    const auto row_at = [&](int row) { return slab + row * layout.row_bytes; };
    const ScaledRows<P, WarpWorker, Arguments> rows(a_, item);
    range::RowPowers powers;
    const range::Limits limits = limits_of<layout.dtype, false>(a_, item.channel);
    if (!rows.scale(limits, factor_of(a_, item.channel), 0, powers)) return;
    rows.load_slab(0, powers, row_at);
    device::sync_warp();
    hold_spectrum(item.channel);
    Words<4> re[r], im[r] = {};
    DANAUS_UNROLL
    for (int nr = 0; nr < r; ++nr) load_block(slab, nr, re, im);
    beyond_ = 0;  // rows begin where their samples do
    convolve(item.channel, re, im);
    DANAUS_UNROLL
    for (int nr = 0; nr < r; ++nr) store_block(slab, nr, re, im);
    device::sync_warp();
    rows.store_slab(0, powers, factor_of(a_, item.channel), row_at);
    device::sync_warp();
  }

  // From samples to samples; of the right angle the imaginary part is in beyond_, as far as it is wanted.
  DANAUS_DEVICE void convolve(int channel, Samples& re, Samples& im) {
    Tiles x[r];
    samples_there<P>(re, im, constants_, x);
    if (has_beyond()) add_imaginary<P>(beyond_, constants_, x);
    if constexpr (layout.outer_vectors > 0) outer_twiddles<P, false>(x);
    const Matrix16& dft = constants_.dft;
    DANAUS_UNROLL
    for (int kr = 0; kr < r; ++kr) {
      if (!has_live(kr)) {
        x[kr][0][0] = x[kr][0][1] = x[kr][1][0] = x[kr][1][1] = {};
        continue;
      }
      rows_there<P>(constants_, x[kr]);
      const Words<4> of_row[2] = {spectrum_.load({a_.spectrum, a_.tables}, channel, 2 * kr, 2 * kr),
                                  spectrum_.load({a_.spectrum, a_.tables}, channel, 2 * kr + 1, 2 * kr + 1)};
      convolve_tiles(x[kr], dft, constants_.inner, constants_.inner_back, of_row);
      if constexpr (!layout.real_rows) from_left<true>(dft, x[kr][0][0], x[kr][1][0], x[kr][0][1], x[kr][1][1]);
    }
    if constexpr (layout.outer_vectors > 0) outer_twiddles<P, true>(x);
    if (has_beyond()) beyond_ = imaginary_back<P>(x, constants_);
    if constexpr (layout.real_rows)
      real_rows_back<P>(x[0], constants_, re[0]);
    else
      transform_blocks_back<P>(x, re, im);
  }

  // of(words of a block, those of a gate) in their place.
  template <class Of>
  DANAUS_DEVICE void for_each_word(SharedAddress slab, int gate_row, int nr, Words<4>& re, Words<4>& im, Of of) const {
    const auto apply = [&](int row, Words<4>& words) {
      const Words<4> gate = device::load_matrices<4, true>(slab + matrix_address<P>(first_, row, nr));
      DANAUS_UNROLL
      for (int m = 0; m < 4; ++m) words[m] = of(words[m], gate[m]);
    };
    apply(gate_row, re);
    if constexpr (layout.pair) apply(gate_row + 1, im);
  }

  DANAUS_DEVICE void store(Item item, SharedAddress slab, float factor, Samples& re, Samples& im) const {
    DANAUS_UNROLL
    for (int nr = 0; nr < r; ++nr) {
      if (postgate()) {
        for_each_word(slab, layout.postgate_row, nr, re[nr], im[nr],
                      [&](u32 word, u32 gate) { return scaled::samples_of<layout.dtype>(word, factor, gate); });
      } else if constexpr (layout.scaled) {
        DANAUS_UNROLL
        for (int m = 0; m < 4; ++m) {
          re[nr][m] = scaled::samples_of<layout.dtype>(re[nr][m], factor);
          if constexpr (layout.pair) im[nr][m] = scaled::samples_of<layout.dtype>(im[nr][m], factor);
        }
      }
      store_block(slab, nr, re, im);
    }
    device::fence_async();
    device::sync_warp();
    if (is_enclosing())
      store_row(row_place(a_, a_.y_strides, Path::enclosing, item), slab);
    else if (path_ == Path::threads)
      store_slab_by_threads<P, WarpWorker>(a_, item, 0, slab);
    else if (leader_)
      store_slab<P>(a_, item, 0, slab);
    device::sync_warp();
  }

  // Of an enclosed row the whole chunks of 8 samples, then those before them and after them, a lane each.
  DANAUS_DEVICE void store_row(const RowPlace& row, SharedAddress slab) const {
    auto* const rows = static_cast<std::uint16_t*>(a_.y) + row.begin;
    const int lane = device::lane_index(), first = row.first > 0 ? 8 : 0, end = row.last & ~7;
    DANAUS_UNROLL
    for (int i = 0; i < r; ++i) {
      const int n = 8 * (lane + 32 * i);
      if (n >= first && n < end) device::store_global<16>(rows + n, device::load_shared<16>(swizzled(slab + 2 * n)));
    }
    const int n = lane < 8 ? lane : end + lane - 8;
    const bool is_end = lane < 8 ? first > 0 && n >= row.first : lane < 16 && n >= first && n < layout.size;
    if (is_end && n < row.last) device::store_global<2>(rows + n, device::load_shared<2>(swizzled(slab + 2 * n)));
  }

  const Arguments& a_;
  const Path path_;
  const bool leader_;                     // issues the bulk copies
  const SharedAddress slabs_, barriers_;  // of the warp's ring
  const ItemRange items_;
  const SharedAddress first_, pair_;  // the lane's, in a slab: matrix_address(), pair_address()
  NotedItems noted_;
  Constants<P> constants_;
  ChannelSpectrum<layout.tuning.spectrum, layout.rows, 2 * r, layout.size, 0, layout.marks_at> spectrum_;
  u32 live_ = 0;                       // blocks of a masked spectrum, a bit each
  int fetched_ = 0, fetch_place_ = 0;  // items that have been asked for; the place of the next
  Item fetch_item_;
  u32 beyond_ = 0;  // the item's samples beyond N, of u and then of y (load_beyond)
  std::conditional_t<layout.filtered, ShortFilters<layout.dtype>, Nothing> filters_;
};

template <class P, Path path>
DANAUS_DEVICE void run(const typename P::Arguments& a) {
  Warp<P, path>(a).run();
}

}  // namespace danaus::chain::inline DANAUS_BACKEND
