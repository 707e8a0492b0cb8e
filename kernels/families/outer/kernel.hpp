// outer: the first and the last pass of a convolution of N = N1 N2 points whose inner convolutions of N2 points are
// done by a fused kernel; N1 = 64 r.
//
// source     Bailey 1990, the four-step FFT, whose middle steps are the fused convolution of pairs
// index      n = N2 n_hi + n_lo, k = k_hi + N1 k_lo; n_hi, k_hi in digits as tile/rows64.hpp has them
// there      X[k_hi][n_lo] = w_N^(n_lo k_hi) sum over n_hi of w_N1^(n_hi k_hi) z[n_hi][n_lo], z of two batch rows (pair
//            fold) or of one that the right angle weights: of each k_hi a complex sequence of N2 points, whose real and
//            imaginary parts are two rows of a channel (h, k_hi)
// back       the inverse, from Y to samples
// shapes     u, y, gates [B, H, L], L <= N; planes [B', chunk's channels, N1, N2], B' = 2 ceil(B / 2) or 2 B
// types      samples f16 or bf16, and planes of the same; arithmetic f16, of bf16 scaled by powers of two of each unit
// scaling    unitary up to a power of two, in the twiddle
// memory     a block keeps its columns, and their twiddles, while items go by through a ring of tiles; a gate meets
//            samples on their way between global and shared memory
// error      counted by roundings_of_pass() each way
// reference  reference/convolution/convolve.hpp   test   tests/kernels/outer_test.cpp
#pragma once

#include "kernels/families/outer/layout.hpp"
#include "kernels/memory/column.hpp"
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
        tiles_(a.columns / 64),
        size_(layout.rows * a.columns),
        chunk_(device::warp_index()),
        items_of_channel_((a.batch + layout.item_rows - 1) / layout.item_rows),
        items_(a.channel_count * items_of_channel_) {}

  // Blocks of one tile share the items; where there are fewer blocks than tiles, each has several, one after the other.
  DANAUS_DEVICE void run() {
    load_rows<P>(a_.tables, rows_);
    device::let_next_grid_begin();
    device::wait_for_previous_grid();
    const int sharing = max(device::block_count() / tiles_, 1);
    for (int tile = device::block_index() / sharing; tile < tiles_; tile += max(device::block_count() / sharing, 1)) {
      tile_ = tile;
      find_twiddles();
      run_tile(device::block_index() % sharing, sharing);
    }
  }

 private:
  static constexpr Layout layout = P::layout;
  static constexpr int r = layout.radix;
  static constexpr bool back = layout.key.back;
  static constexpr int kChunks = 8 * layout.rows;  // of a plane

  DANAUS_DEVICE void run_tile(int first, int step) {
    const int count = first < items_ ? (items_ - first + step - 1) / step : 0;
    DANAUS_UNROLL
    for (int i = 0; i < layout.tuning.ring - 1; ++i) load(first + i * step, i, i < count);
    int place = 0;
    for (int i = 0; i < count; ++i) {
      device::copy_async_wait<layout.tuning.ring - 2>();
      device::sync_block();  // and what was stored from the place before this one has been read
      const int next = i + layout.tuning.ring - 1;
      load(first + next * step, place == 0 ? layout.tuning.ring - 1 : place - 1, next < count);
      transform(place);
      device::sync_block();
      store(first + i * step, place);
      if (++place == layout.tuning.ring) place = 0;
    }
    device::copy_async_wait<0>();
    device::sync_block();
  }

  static DANAUS_DEVICE SharedAddress address_of(int place) { return place * layout.tile_bytes; }
  // Line of a row n_hi, and k_hi of a line.
  static DANAUS_DEVICE int line_of(int n_hi) { return n_hi / 64 * 8 + n_hi % 64 / 8 + 8 * r * (n_hi % 8); }
  static DANAUS_DEVICE int frequency_of_line(int line) {
    return line % (8 * r) / 8 + r * (line / (8 * r) + 8 * (line % 8));
  }

  DANAUS_DEVICE int channel_of(int item) const { return item / items_of_channel_; }
  DANAUS_DEVICE int batch_row_of(int item) const { return item % items_of_channel_ * layout.item_rows; }
  DANAUS_DEVICE long long sample_row(int item, int row) const {
    return (static_cast<long long>(batch_row_of(item) + row) * a_.channels + a_.first_channel + channel_of(item)) *
           a_.length;
  }
  DANAUS_DEVICE std::uint16_t* plane(int item, int number) const {
    const long long row = 2ll * (item % items_of_channel_) + number;
    return static_cast<std::uint16_t*>(a_.planes) + (row * a_.channel_count + channel_of(item)) * size_;
  }

  // Chunk i of the rows of an item, as [B, H, L] has them and as a tile has.
  struct Chunk {
    RowPlace row;  // of no samples beyond the batch
    int n;
    SharedAddress place;
  };
  DANAUS_DEVICE Chunk chunk_of(int item, int i, SharedAddress tile) const {
    const int row = i / kChunks, n_hi = i % kChunks / 8, c = i % 8;
    const bool exists = batch_row_of(item) + row < a_.batch;
    return {{exists ? sample_row(item, row) : 0, 0, exists ? a_.length : 0},
            n_hi * a_.columns + 64 * tile_ + 8 * c,
            swizzled(tile + row * layout.row_bytes + 128 * line_of(n_hi) + 16 * c)};
  }
  DANAUS_DEVICE Transfer transfer() const { return a_.aligned ? Transfer::vector : Transfer::element; }

  // Zeros beyond the row and where the batch has no second one.
  DANAUS_DEVICE void load_samples(int item, SharedAddress to) const {
    const auto* samples = static_cast<const std::uint16_t*>(a_.samples);
    DANAUS_UNROLL_BY(4)
    for (int i = device::thread_index(); i < layout.item_rows * kChunks; i += layout.threads) {
      const Chunk chunk = chunk_of(item, i, to);
      const bool there = chunk.n < chunk.row.last;
      if (a_.aligned && !a_.gate) {
        device::copy_async(chunk.place, samples + (there ? chunk.row.begin + chunk.n : 0), there ? 16 : 0);
        continue;
      }
      Words<4> words{};
      if (there) words = load_chunk(samples, chunk.row, chunk.n, transfer());
      if (there && a_.gate) words = times_gate(words, chunk);
      device::store_shared<16>(chunk.place, words);
    }
  }
  DANAUS_DEVICE Words<4> times_gate(Words<4> words, const Chunk& chunk) const {
    return gated<layout.dtype>(words, load_chunk(a_.gate, chunk.row, chunk.n, transfer()));
  }
  DANAUS_DEVICE void load(int item, int place, bool exists) const {
    const SharedAddress to = address_of(place);
    if (exists && !back) {
      load_samples(item, to);
    } else if (exists) {
      for (int i = device::thread_index(); i < 2 * kChunks; i += layout.threads) {
        const int number = i / kChunks, line = i % kChunks / 8, c = i % 8;
        device::copy_async(swizzled(to + number * layout.row_bytes + 128 * line + 16 * c),
                           plane(item, number) + frequency_of_line(line) * a_.columns + 64 * tile_ + 8 * c, 16);
      }
    }
    device::copy_async_commit();
  }

  DANAUS_DEVICE void store(int item, int place) const {
    const SharedAddress from = address_of(place);
    if constexpr (!back) {
      for (int i = device::thread_index(); i < 2 * kChunks; i += layout.threads) {
        const int number = i / kChunks, line = i % kChunks / 8, c = i % 8;
        device::store_global<16>(
            plane(item, number) + frequency_of_line(line) * a_.columns + 64 * tile_ + 8 * c,
            device::load_shared<16>(swizzled(from + number * layout.row_bytes + 128 * line + 16 * c)));
      }
    } else {
      DANAUS_UNROLL_BY(4)
      for (int i = device::thread_index(); i < layout.item_rows * kChunks; i += layout.threads) {
        const Chunk chunk = chunk_of(item, i, from);
        if (chunk.n >= chunk.row.last) continue;
        Words<4> words = device::load_shared<16>(chunk.place);
        if (a_.gate) words = times_gate(words, chunk);
        store_chunk(a_.samples, chunk.row, chunk.n, transfer(), words);
      }
    }
  }

  // scale exp(-2 pi i numerator / denominator), numerator >= 0.
  static DANAUS_DEVICE fp32::Complex root(int numerator, int denominator, float scale = 1) {
    const int of_turn = numerator % denominator;  // in half turns, from -1 to 1
    return scale * fp32::turn(of_turn > denominator / 2 ? 2 * (denominator - of_turn) : -2 * of_turn, denominator);
  }
  // The twiddle between this pass and the inner convolution, and the right angle's weights, of the warp's first column:
  // with the DFT's own twiddle. That of a column among the eight is a table's.
  DANAUS_DEVICE void find_twiddles() {
    const int lane = device::lane_index(), g = lane / 4, t = lane % 4, first = 64 * tile_ + 8 * chunk_;
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
    own_.n2 = {re, im, device::negate2(im), re};
    DANAUS_UNROLL
    for (int kr = 0; kr < r; ++kr)
      own_.a[kr] = {device::pack2(a[kr][0].re, a[kr][1].re), device::pack2(a[kr][0].im, a[kr][1].im)};
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

  DANAUS_DEVICE void transform(int place) {
    const SharedAddress from = address_of(place);
    const Column<P> column(from, from + layout.row_bytes, chunk_);
    if constexpr (back)
      transform_back(column);
    else
      transform_there(column);
  }

  DANAUS_DEVICE void transform_there(const Column<P>& column) {
    u32 re[r][8], im[r][8] = {};
    DANAUS_UNROLL
    for (int nr = 0; nr < r; ++nr) {
      column.load(0, nr, re[nr]);
      if constexpr (layout.pair) column.load(1, nr, im[nr]);
    }
    const float factor = narrow<layout.pair>(re, im);
    rows_there<P, false>(re, im, rows_, own_, [&](int kr, const Complex2(&x)[8]) {
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

  DANAUS_DEVICE void transform_back(const Column<P>& column) {
    u32 planes[2][r][8], re[r][8], im[r][8];
    DANAUS_UNROLL
    for (int kr = 0; kr < r; ++kr) {
      column.load(0, kr, planes[0][kr]);
      column.load(1, kr, planes[1][kr]);
    }
    const float factor = narrow<true>(planes[0], planes[1]);
    rows_back<P, false>(rows_, own_, re, im, [&](int kr, Complex2(&x)[8]) {
      Complex2 split[8];
      load_splits(kr, split);
      DANAUS_UNROLL
      for (int i = 0; i < 8; ++i) x[i] = times<true>({planes[0][kr][i], planes[1][kr][i]}, split[i]);
    });
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
  const int tiles_, size_, chunk_, items_of_channel_, items_;
  int tile_ = 0;
  RowConstants<P> rows_;
  RowTwiddles<P> own_;
};

template <class P, Path path>
DANAUS_DEVICE void run(const Arguments& a) {
  Block<P>(a).run();
}

}  // namespace danaus::outer::inline DANAUS_BACKEND
