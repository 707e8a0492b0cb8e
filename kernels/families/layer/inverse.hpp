// From spectra back to samples.
#pragma once

#include "kernels/families/layer/product.hpp"

namespace danaus::layer::inline DANAUS_BACKEND {

template <class P>
class BlockInverse : protected BlockProduct<P> {
 public:
  using Base = BlockProduct<P>;
  using Base::Base;

 protected:
  static constexpr Layout layout = P::layout;
  using Base::a_, Base::at_, Base::channel_of, Base::first_channel, Base::first_item_, Base::g, Base::outputs_of,
      Base::row_of, Base::t, Base::y_address, Base::kComplex;
  using A = Operand<P, 4>;
  using B = Operand<P, 2>;
  using Lane = Points<P>;

  // An A fragment of V: 16 channels, the frequencies of a step.
  DANAUS_DEVICE A mixed(int item, int output_tile, int step, int part) const {
    const int channel = 16 * output_tile + g();
    u32 words[4];
    if constexpr (layout.halves) {
      DANAUS_UNROLL
      for (int i = 0; i < 4; ++i)
        words[i] = device::load_shared<4>(y_address(item, 8 * step + t() + 4 * (i / 2), part) +
                                          4 * (channel + 8 * (i % 2)))[0];
    } else {
      DANAUS_UNROLL
      for (int h = 0; h < 2; ++h) {
        const Words<2> w =
            device::load_shared<8>(y_address(item, 8 * step + t() + 4 * h, part) + 8 * (8 * output_tile + g()));
        words[2 * h] = w[0], words[2 * h + 1] = w[1];
      }
    }
    return A(words);
  }

  // Sums of cosines and of sines by which a tile of points is made.
  struct Sums {
    float cosine[2][2][4], sine[2][2][4];  // of even frequencies and of odd ones; of real parts, of imaginary parts
  };

  using PointSums = Sums[layout.point_tiles];

  template <bool whole, bool shared>
  DANAUS_DEVICE void transform_points(PointSums& sums, int item, int output_tile, int first_tile, int tiles) const {
    const int steps = 8 * at_.frequency_tiles / layout.step;
    Table<shared> table(a_.inverse, at_.inverse_at, first_tile * steps);
    DANAUS_UNROLL_BY(1)
    for (int step = 0; step < steps; step += 2, table += 2) {
      DANAUS_UNROLL
      for (int parity = 0; parity < 2; ++parity) {
        const A re = mixed(item, output_tile, step + parity, 0), im = mixed(item, output_tile, step + parity, 1);
        DANAUS_UNROLL
        for (int i = 0; i < layout.point_tiles; ++i) {
          if (!whole && first_tile + i >= tiles) continue;
          add_products(sums[i], parity, re, im, table, i * steps + parity);
        }
      }
    }
  }
  // The inverse of what a lane has of a product: columns of its sums are those that a step contracts (tables.cpp).
  template <int tiles>
  DANAUS_DEVICE void finish(const Tile<tiles>& tile, int item, int output_tile) const {
    constexpr int kSteps = 8 * tiles / layout.step;
    u32 re[kSteps][4], im[kSteps][4];
    DANAUS_UNROLL
    for (int step = 0; step < kSteps; ++step)
      fragment_of(re[step], tile.re, step), fragment_of(im[step], tile.im, step);
    const int steps = 8 * at_.frequency_tiles / layout.step;
    const int point_tiles = Layout::tiles_of_points(a_.part, layout.step);
    const auto row = output_row(item, output_tile);
    DANAUS_UNROLL_BY(1)
    for (int first = 0; first < point_tiles; first += layout.point_tiles) {
      PointSums sums = {};
      if (kSteps == steps && at_.inverse_at >= 0)
        sum_up<true, true>(sums, re, im, first, point_tiles, steps);
      else
        sum_up<false, false>(sums, re, im, first, point_tiles, steps);
      store_points(sums, first, point_tiles, row);
    }
  }
  template <int tiles>
  static DANAUS_DEVICE void fragment_of(u32 (&words)[4], const float (&sums)[tiles][4], int step) {
    DANAUS_UNROLL
    for (int i = 0; i < 4; ++i)
      if constexpr (layout.halves) {
        const float(&of)[4] = sums[2 * step + i / 2];
        words[i] = device::pack2<layout.key.dtype>(of[2 * (i % 2)], of[2 * (i % 2) + 1]);
      } else {
        words[i] = operand<P>(sums[step][i / 2 + 2 * (i % 2)]);
      }
  }
  template <bool whole, bool shared, int count>
  DANAUS_DEVICE void sum_up(PointSums& sums, const u32 (&re)[count][4], const u32 (&im)[count][4], int first_tile,
                            int tiles, int steps) const {
    const Table<shared> table(a_.inverse, at_.inverse_at, first_tile * steps);
    DANAUS_UNROLL
    for (int step = 0; step < count; ++step) {
      if (!whole && step >= steps) continue;
      const A v_re(re[step]), v_im(im[step]);
      DANAUS_UNROLL
      for (int i = 0; i < layout.point_tiles; ++i)
        if (i == 0 || first_tile + i < tiles) add_products(sums[i], step % 2, v_re, v_im, table, i * steps + step);
    }
  }
  template <bool shared>
  static DANAUS_DEVICE void add_products(Sums& sums, int parity, const A& re, const A& im, const Table<shared>& table,
                                         int vector) {
    u32 cosine[2], sine[2];
    table.load(vector, cosine, sine);
    const B c(cosine), s(sine);
    multiply<P>(sums.cosine[parity][0], re, c);
    multiply<P>(sums.sine[parity][1], im, s);
    if constexpr (kComplex) {
      multiply<P>(sums.cosine[parity][1], im, c);
      multiply<P>(sums.sine[parity][0], re, s);
    }
  }

  template <class Store>
  DANAUS_DEVICE void transform_back(int item, int output_tile, int first_tile, int tiles, Store store) const {
    PointSums sums = {};
    const bool whole = first_tile + layout.point_tiles <= tiles;
    if (whole && at_.inverse_at >= 0)
      transform_points<true, true>(sums, item, output_tile, first_tile, tiles);
    else if (whole)
      transform_points<true, false>(sums, item, output_tile, first_tile, tiles);
    else
      transform_points<false, false>(sums, item, output_tile, first_tile, tiles);
    store(sums);
  }
  // Where the outputs of a lane's two channels are, or nowhere.
  DANAUS_DEVICE auto output_row(int item, int output_tile) const {
    unsigned char* const y = outputs_of(first_item_ + item);
    return [this, y, output_tile](int r) -> unsigned char* {
      const int channel = first_channel() + 16 * output_tile + channel_of(r);
      return channel < a_.outputs ? y + Lane::kBytes * a_.y_rows.channel * channel : nullptr;
    };
  }
  template <class Row>
  DANAUS_DEVICE void store_points(const PointSums& sums, int first_tile, int tiles, Row row_of) const {
    DANAUS_UNROLL
    for (int i = 0; i < layout.point_tiles; i += layout.step_tiles) {
      const int n = 8 * (first_tile + i) + layout.lane_points * t();
      DANAUS_UNROLL
      for (int r = 0; r < 2; ++r) {
        unsigned char* const row = row_of(r);
        if (first_tile + i >= tiles || !row) continue;
        store(row, n, false, points_of(sums, i, r, false, -1), points_of(sums, i, r, false, 1));
        if (a_.quarters) store(row, n, true, points_of(sums, i, r, true, -1), points_of(sums, i, r, true, 1));
      }
    }
  }

  // A + B (sign -1) or A - B of a lane's point p, or of its image in halves; B = i times sums of sines.
  DANAUS_DEVICE float number_of(const PointSums& sums, int first, int r, bool image, int sign, int p, int part) const {
    const int i = 2 * r + p % 2;
    const auto& [cosine, sine] = sums[first + p / 2];
    const float cosines = image ? cosine[0][part][i] - cosine[1][part][i] : cosine[0][part][i] + cosine[1][part][i];
    const float sines =
        image ? sine[1][1 - part][i] - sine[0][1 - part][i] : sine[0][1 - part][i] + sine[1][1 - part][i];
    device::count_fp32(3);
    return a_.scale * (cosines + (part == 0 ? sign : -sign) * sines);
  }
  DANAUS_DEVICE Lane points_of(const PointSums& sums, int first, int r, bool image, int sign) const {
    const auto real = [&](int p) { return number_of(sums, first, r, image, sign, p, 0); };
    const auto imaginary = [&](int p) { return number_of(sums, first, r, image, sign, p, 1); };
    Lane lane;
    DANAUS_UNROLL
    for (int i = 0; i < layout.words; ++i) {
      if constexpr (layout.halves)
        lane.word[i] = kComplex ? device::pack2<layout.key.dtype>(real(i), imaginary(i))
                                : device::pack2<layout.key.dtype>(real(2 * i), real(2 * i + 1));
      else
        lane.word[i] = word_of(!kComplex ? real(i) : i % 2 == 0 ? real(i / 2) : imaginary(i / 2));
    }
    return lane;
  }
  // Points from n on and their mirror images in the row, or the images of both in its halves.
  DANAUS_DEVICE void store(void* row, int n, bool image, const Lane& near, const Lane& far) const {
    const int half = a_.length / 2;
    // What most rows take stands together: blocks that have one item wait for their code, too.
    if (a_.aligned) [[likely]] {
      if (n >= a_.part) return;
      (image ? far : near).store(row, image ? half + n : n);
      (image ? near : far).reversed().store(row, (image ? half : a_.length) - layout.lane_points - n);
      return;
    }
    DANAUS_UNROLL
    for (int i = 0; i < layout.lane_points; ++i) {
      if (n + i >= a_.part) continue;
      (image ? far : near).store_one(row, image ? half + n + i : n + i, i);
      (image ? near : far).store_one(row, (image ? half : a_.length) - 1 - n - i, i);
    }
  }
};

}  // namespace danaus::layer::inline DANAUS_BACKEND
