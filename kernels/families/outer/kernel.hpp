// outer: the first and the last pass of a convolution of N = N1 N2 points whose inner convolutions of N2 points are
// done by a fused kernel; N1 = 64 r.
//
// source     Bailey 1990, the four-step FFT, whose middle steps are the fused convolution of pairs
// index      n = N2 n_hi + n_lo, k = k_hi + N1 k_lo; n_hi, k_hi in digits as tile/rows64.hpp has them
// there      X[k_hi][n_lo] = w_N^(n_lo k_hi) sum over n_hi of w_N1^(n_hi k_hi) z[n_hi][n_lo], z of two batch rows (pair
//            fold) or of one that the right angle weights: of each k_hi a complex sequence of N2 points, whose real and
//            imaginary parts are two rows of a channel (h, k_hi)
// back       the inverse, from Y to samples
// shapes     u, y, gates [B, H, L], L <= N; planes [B', chunk's channels, N1, N2], B' = 2 ceil(B / 2) or 2 B; where a
//            mask leaves nothing of some rows k_hi, those that are left: the others are not stored, and read as zeros
// types      samples f16 or bf16, and planes of the same; arithmetic f16, of bf16 scaled by powers of two of each unit
// scaling    unitary up to a power of two, in the twiddle
// memory     a block keeps its columns, and their twiddles, while items go by through a ring of tiles; a gate meets
//            samples on their way between global and shared memory
// range      the pass there leaves energies of rows, the pass back in f16 says what is not finite: families/rescaled
//            computes doubtful items once more
// error      counted by roundings_of_pass() each way
// reference  reference/convolution/convolve.hpp   test   tests/kernels/outer_test.cpp
#pragma once

#include "kernels/families/outer/layout.hpp"
#include "kernels/memory/column.hpp"
#include "kernels/memory/energies.hpp"
#include "kernels/tile/fp32.hpp"
#include "kernels/tile/rows64.hpp"
#include "kernels/tile/scaled.hpp"

namespace danaus::outer::inline DANAUS_BACKEND {

template <Key key, Tuning tuning>
struct Shape {
  static constexpr Layout layout{key, tuning};
  static_assert(!layout.broken_rule(), "tunings.hpp has a line that Layout::broken_rule() refuses");
};

template <class P>
class Block {
 public:
  DANAUS_DEVICE explicit Block(const Arguments& a)
      : a_(a),
        tiles_(a.columns / layout.tile_columns),
        size_(layout.rows * a.columns),
        warp_(device::warp_index()),
        line_(device::thread_index() / 8 / layout.tuning.sides),
        side_(device::thread_index() / 8 % layout.tuning.sides),
        chunk_(device::thread_index() % 8),
        items_of_channel_((a.batch + layout.item_rows - 1) / layout.item_rows),
        items_(a.channel_count * items_of_channel_) {}

  // Blocks of one tile share the items, and neighbours have the same item, so that its rows are read as wholes; where
  // there are fewer blocks than tiles, each has several, one after the other.
  DANAUS_DEVICE void run() {
    load_rows<P>(a_.tables, rows_);
    DANAUS_UNROLL
    for (int j = 0; j < kRuns && layout.key.some; ++j)
      slots_[j] = static_cast<int>(device::load_constant<4>(a_.slots + row_of_line(j))[0]);
    device::let_next_grid_begin();
    device::wait_for_previous_grid();
    const int sharing = max(device::block_count() / tiles_, 1), at_once = min(device::block_count(), tiles_);
    for (tile_ = device::block_index() % at_once; tile_ < tiles_; tile_ += at_once) {
      DANAUS_UNROLL
      for (int i = 0; i < layout.warp_sides; ++i) find_twiddles(side_of_warp(i), own_[i]);
      run_tile(device::block_index() / at_once, sharing);
    }
  }

 private:
  static constexpr Layout layout = P::layout;
  static constexpr int r = layout.radix;
  static constexpr bool back = layout.key.back;

  // Of a plane's 64 r lines a thread moves kRuns chunks: chunk_ of lines, and of rows, line_ + kStep j. Row n_hi is
  // line n_hi / 8 + 8 r (n_hi % 8), and line l is row k_hi = l / 8 + 8 r (l % 8), so that both go on evenly with j.
  static constexpr int kStep = layout.rows_at_once, kRuns = layout.rows / kStep;
  static_assert(kStep % 8 == 0);
  static DANAUS_DEVICE int transposed(int row) { return row / 8 + 8 * r * (row % 8); }
  DANAUS_DEVICE SharedAddress place_of_row(int j) const {  // n_hi = line_ + kStep j
    const int chunk = chunk_ ^ (line_ / 8 + kStep / 8 * j % 8);
    return side_ * layout.side_bytes + 128 * (transposed(line_) + kStep / 8 * j) + 16 * chunk;
  }
  DANAUS_DEVICE SharedAddress place_of_line(int j) const {
    return side_ * layout.side_bytes + 128 * (line_ + kStep * j) + 16 * (chunk_ ^ line_ % 8);
  }
  DANAUS_DEVICE int column() const { return layout.tile_columns * tile_ + 64 * side_ + 8 * chunk_; }
  DANAUS_DEVICE int sample_of(int j) const { return (line_ + kStep * j) * a_.columns + column(); }
  DANAUS_DEVICE int row_of_line(int j) const { return transposed(line_) + kStep / 8 * j; }
  DANAUS_DEVICE bool has_row(int j) const { return !layout.key.some || slots_[j] >= 0; }
  DANAUS_DEVICE int frequency_of(int j) const {
    return (layout.key.some ? slots_[j] : row_of_line(j)) * a_.columns + column();
  }
  DANAUS_DEVICE int side_of_warp(int i) const { return warp_ / 8 + i; }

  // One or two batch rows of a channel, among those of the chunk.
  struct Item {
    int channel, number;
  };
  DANAUS_DEVICE Item item_at(int index) const { return {index / items_of_channel_, index % items_of_channel_}; }
  DANAUS_DEVICE void advance(Item& item, const Item& step) const {
    item.channel += step.channel, item.number += step.number;
    if (item.number >= items_of_channel_) item.number -= items_of_channel_, ++item.channel;
  }

  DANAUS_DEVICE void run_tile(int first, int step) {
    const int count = first < items_ ? (items_ - first + step - 1) / step : 0;
    const Item further = item_at(step);
    Item item = item_at(first), next = item;
    const auto load_next = [&](int place, bool exists) {
      if (exists) load(next, place);
      device::copy_async_commit();
      advance(next, further);
    };
    DANAUS_UNROLL
    for (int i = 0; i < layout.tuning.ring - 1; ++i) load_next(i, i < count);
    int place = 0;
    for (int i = 0; i < count; ++i) {
      device::copy_async_wait<layout.tuning.ring - 2>();
      device::sync_block();  // and what was stored from the place before this one has been read
      load_next(place == 0 ? layout.tuning.ring - 1 : place - 1, i + layout.tuning.ring - 1 < count);
      transform(item, place);
      device::sync_block();
      store(item, place);
      advance(item, further);
      if (++place == layout.tuning.ring) place = 0;
    }
    device::copy_async_wait<0>();
    device::sync_block();
  }

  static DANAUS_DEVICE SharedAddress address_of(int place) { return place * layout.tile_bytes; }
  // Of no samples beyond the batch.
  DANAUS_DEVICE RowPlace row_of(const RowStrides& strides, const Item& item, int row) const {
    const int b = item.number * layout.item_rows + row;
    if (b >= a_.batch) return {0, 0, 0};
    return {b * strides.row + (a_.first_channel + item.channel) * strides.channel, 0, a_.length};
  }
  DANAUS_DEVICE std::uint16_t* plane(const Item& item, int number) const {
    const long long row = 2ll * item.number + number;
    const int size = layout.key.some ? a_.rows * a_.columns : size_;
    return static_cast<std::uint16_t*>(a_.planes) + (row * a_.channel_count + item.channel) * size;
  }
  DANAUS_DEVICE Transfer transfer() const { return a_.aligned ? Transfer::vector : Transfer::element; }

  DANAUS_DEVICE void load(const Item& item, int place) const {
    const SharedAddress to = address_of(place);
    if constexpr (!back) {
      DANAUS_UNROLL
      for (int row = 0; row < layout.item_rows; ++row) load_samples(item, row, to + row * layout.row_bytes);
    } else {
      DANAUS_UNROLL
      for (int number = 0; number < 2; ++number) {
        const std::uint16_t* from = plane(item, number);
        DANAUS_UNROLL
        for (int j = 0; j < kRuns; ++j) {
          const bool is_there = has_row(j);
          device::copy_async(to + number * layout.row_bytes + place_of_line(j),
                             is_there ? from + frequency_of(j) : from, is_there ? 16 : 0);
        }
      }
    }
  }
  // Zeros beyond the row.
  DANAUS_DEVICE void load_samples(const Item& item, int number, SharedAddress to) const {
    const RowPlace row = row_of(a_.samples_strides, item, number);
    const auto* from = static_cast<const std::uint16_t*>(a_.samples) + row.begin;
    if (a_.aligned && !a_.gate) {
      DANAUS_UNROLL
      for (int j = 0; j < kRuns; ++j) {
        const int n = sample_of(j);
        device::copy_async(to + place_of_row(j), n < row.last ? from + n : a_.samples, n < row.last ? 16 : 0);
      }
      return;
    }
    const RowPlace of_gate = row_of(a_.gate_strides, item, number);
    DANAUS_UNROLL_BY(2)
    for (int j = 0; j < kRuns; ++j) {
      const int n = sample_of(j);
      Words<4> words{};
      if (n < row.last) words = load_chunk(a_.samples, row, n, transfer());
      if (n < row.last && a_.gate) words = gated<layout.dtype>(words, load_chunk(a_.gate, of_gate, n, transfer()));
      device::store_shared<16>(to + place_of_row(j), words);
    }
  }

  DANAUS_DEVICE void store(const Item& item, int place) const {
    const SharedAddress from = address_of(place);
    if constexpr (back) {
      DANAUS_UNROLL
      for (int row = 0; row < layout.item_rows; ++row) store_samples(item, row, from + row * layout.row_bytes);
    } else {
      DANAUS_UNROLL
      for (int number = 0; number < 2; ++number) {
        std::uint16_t* const to = plane(item, number);
        DANAUS_UNROLL
        for (int j = 0; j < kRuns; ++j)
          if (has_row(j))
            device::store_global<16>(to + frequency_of(j),
                                     device::load_shared<16>(from + number * layout.row_bytes + place_of_line(j)));
      }
    }
  }
  DANAUS_DEVICE void store_samples(const Item& item, int number, SharedAddress from) const {
    const RowPlace row = row_of(a_.samples_strides, item, number);
    auto* const to = static_cast<std::uint16_t*>(a_.samples) + row.begin;
    if (a_.aligned && !a_.gate) {
      DANAUS_UNROLL
      for (int j = 0; j < kRuns; ++j)
        if (const int n = sample_of(j); n < row.last)
          device::store_global<16>(to + n, device::load_shared<16>(from + place_of_row(j)));
      return;
    }
    const RowPlace of_gate = row_of(a_.gate_strides, item, number);
    DANAUS_UNROLL_BY(2)
    for (int j = 0; j < kRuns; ++j) {
      const int n = sample_of(j);
      if (n >= row.last) continue;
      Words<4> words = device::load_shared<16>(from + place_of_row(j));
      if (a_.gate) words = gated<layout.dtype>(words, load_chunk(a_.gate, of_gate, n, transfer()));
      store_chunk(a_.samples, row, n, transfer(), words);
    }
  }

  // scale exp(-2 pi i numerator / denominator), numerator >= 0.
  static DANAUS_DEVICE fp32::Complex root(int numerator, int denominator, float scale = 1) {
    const int of_turn = numerator % denominator;  // in half turns, from -1 to 1
    return scale * fp32::turn(of_turn > denominator / 2 ? 2 * (denominator - of_turn) : -2 * of_turn, denominator);
  }
  // The twiddle between this pass and the inner convolution, and the right angle's weights, of the warp's first column:
  // with the DFT's own twiddle. That of a column among the eight is a table's.
  DANAUS_DEVICE void find_twiddles(int side, RowTwiddles<P>& own) const {
    const int lane = device::lane_index(), g = lane / 4, t = lane % 4;
    const int first = layout.tile_columns * tile_ + 64 * side + 8 * (warp_ % 8);
    constexpr int top = layout.rows16 || layout.real_rows ? 8 * r : 8;
    constexpr float kEight = layout.eight, kFirst = layout.first;
    fp32::Complex m[2], a[r][2];
    DANAUS_UNROLL
    for (int e = 0; e < 2; ++e) {
      const int s = 2 * t + e;
      const int n2_of_m = back ? g : s, k2_of_m = back ? s : g;
      m[e] = root(n2_of_m * k2_of_m, 8, kEight) * root(first * 8 * r * k2_of_m, size_);
      DANAUS_UNROLL
      for (int kr = 0; kr < r; ++kr) {
        const int n2 = back ? g : s, k1 = back ? s : g, digit = top == 8 ? k1 : kr + r * k1;
        a[kr][e] = root(digit * n2, 8 * top, kFirst) * root(first * (kr + r * k1), size_);
        if (!layout.pair) a[kr][e] = a[kr][e] * fp32::conjugate(root(first + a_.columns * n2, 4 * size_));
      }
    }
    const u32 re = device::pack2(m[0].re, m[1].re), im = device::pack2(m[0].im, m[1].im);
    own.n2 = {re, im, device::negate2(im), re};
    DANAUS_UNROLL
    for (int kr = 0; kr < r; ++kr)
      own.a[kr] = {device::pack2(a[kr][0].re, a[kr][1].re), device::pack2(a[kr][0].im, a[kr][1].im)};
  }
  // exp(-2 pi i column k / N) of the lane's k of kr, and the right angle's weight of the column: kept in no registers,
  // where r of these eight would take more than the samples do.
  DANAUS_DEVICE void load_splits(int kr, Complex2 (&split)[8]) const {
    DANAUS_UNROLL
    for (int i = 0; i < 8; i += 2) {
      const Words<4> w = load_lane_words(a_.tables, layout.split_at + 4 * kr + i / 2);
      split[i] = {w[0], w[1]}, split[i + 1] = {w[2], w[3]};
    }
  }

  DANAUS_DEVICE void transform(const Item& item, int place) const {
    DANAUS_UNROLL
    for (int i = 0; i < layout.warp_sides; ++i) {
      const SharedAddress from = address_of(place) + side_of_warp(i) * layout.side_bytes;
      const Column<P> column(from, from + layout.row_bytes, warp_ % 8);
      const int unit = 8 * (layout.tuning.sides * tile_ + side_of_warp(i)) + warp_ % 8;
      const long long number = 1ll * item.channel * a_.items_of_channel + item.number;
      float* const energies = a_.energies ? a_.energies + 2 * (number * (a_.columns / 8) + unit) : nullptr;
      if constexpr (back)
        transform_back(column, own_[i], energies);
      else
        transform_there(column, own_[i], energies);
    }
  }

  DANAUS_DEVICE void transform_there(const Column<P>& column, const RowTwiddles<P>& own, float* energies) const {
    u32 re[r][8], im[r][8] = {};
    DANAUS_UNROLL
    for (int nr = 0; nr < r; ++nr) {
      column.load(0, nr, re[nr]);
      if constexpr (layout.pair) column.load(1, nr, im[nr]);
    }
    const float factor = narrow<layout.pair>(re, im);
    if constexpr (has_energies<P>) {
      const range::Energies of_unit = unit_energies<P>(re, im, factor);
      if (energies) store_energies(energies, of_unit);
    }
    rows_there<P, false>(re, im, rows_, own, [&](int kr, const Complex2(&x)[8]) {
      u32 re_out[8], im_out[8];
      Complex2 split[8];
      load_splits(kr, split);
      DANAUS_UNROLL
      for (int i = 0; i < 8; ++i) {
        const Complex2 z = times<false>(x[i], split[i]);
        re_out[i] = scaled::samples_of<layout.dtype>(z.re, factor),
        im_out[i] = scaled::samples_of<layout.dtype>(z.im, factor);
      }
      column.store(0, kr, re_out);
      column.store(1, kr, im_out);
    });
  }

  DANAUS_DEVICE void transform_back(const Column<P>& column, const RowTwiddles<P>& own, float* energies) const {
    u32 planes[2][r][8], re[r][8], im[r][8];
    DANAUS_UNROLL
    for (int kr = 0; kr < r; ++kr) {
      column.load(0, kr, planes[0][kr]);
      column.load(1, kr, planes[1][kr]);
    }
    const float factor = narrow<true>(planes[0], planes[1]);
    rows_back<P, false>(rows_, own, re, im, [&](int kr, Complex2(&x)[8]) {
      Complex2 split[8];
      load_splits(kr, split);
      DANAUS_UNROLL
      for (int i = 0; i < 8; ++i) x[i] = times<true>({planes[0][kr][i], planes[1][kr][i]}, split[i]);
    });
    if constexpr (!layout.scaled)
      if (has_overflow<P>(re, im) && energies) note_overflow(energies);
    const auto store = [&](int row, int nr, u32(&tiles)[8]) {
      DANAUS_UNROLL
      for (int i = 0; i < 8; ++i) tiles[i] = scaled::samples_of<layout.dtype>(tiles[i], factor);
      column.store(row, nr, tiles);
    };
    DANAUS_UNROLL
    for (int nr = 0; nr < r; ++nr) {
      store(0, nr, re[nr]);
      if constexpr (layout.pair) store(1, nr, im[nr]);
    }
  }

  // bf16 to f16 by a power of two of the warp's, whose inverse it returns.
  template <bool both>
  static DANAUS_DEVICE float narrow(u32 (&re)[r][8], u32 (&im)[r][8]) {
    if constexpr (!layout.scaled) return 1;
    return scaled::power_of_two(scaled::narrow_all([&](auto visit) {
      DANAUS_UNROLL
      for (int nr = 0; nr < r; ++nr) {
        DANAUS_UNROLL
        for (int i = 0; i < 8; ++i) {
          visit(re[nr][i]);
          if constexpr (both) visit(im[nr][i]);
        }
      }
    }));
  }

  const Arguments& a_;
  const int tiles_, size_;
  const int warp_, line_, side_, chunk_;  // the thread's
  const int items_of_channel_, items_;
  int tile_ = 0;
  int slots_[layout.key.some ? kRuns : 1] = {};  // of the thread's lines
  RowConstants<P> rows_;
  RowTwiddles<P> own_[layout.warp_sides];
};

template <class P, Path path>
DANAUS_DEVICE void run(const Arguments& a) {
  Block<P>(a).run();
}

}  // namespace danaus::outer::inline DANAUS_BACKEND
