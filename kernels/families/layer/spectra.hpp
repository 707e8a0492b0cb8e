// Spectra between stages: from another pass, to the product, to the inverse, to another pass.
#pragma once

#include "kernels/families/layer/transform.hpp"

namespace danaus::layer::inline DANAUS_BACKEND {

template <class P>
class BlockSpectra : protected BlockTransform<P> {
 public:
  using Base = BlockTransform<P>;
  using Base::Base;

 protected:
  static constexpr Layout layout = P::layout;
  using Base::a_, Base::at_, Base::first_channel, Base::first_frequency, Base::first_input, Base::first_item_, Base::g,
      Base::t, Base::u_address, Base::y_address;

  // Spectra of another pass.
  template <int tiles>
  DANAUS_DEVICE void read(Tile<tiles>& tile, int item, int channel_tile, int first_tile) const {
    DANAUS_UNROLL
    for (int r = 0; r < 2; ++r) {
      const int channel = first_input() + 16 * channel_tile + g() + 8 * r;
      if (channel >= a_.inputs) continue;
      for_each_pair<tiles>(first_tile, [&](int i, int first, int j, int second, int pair) {
        const int frequency = first_frequency() + pair;
        float numbers[4] = {};
        read_pair(numbers, place_in(a_.from, item, channel, frequency), a_.frequencies - frequency, a_.from.pairs);
        tile.re[i][2 * r + first] = numbers[0], tile.im[i][2 * r + first] = numbers[1];
        tile.re[j][2 * r + second] = numbers[2], tile.im[j][2 * r + second] = numbers[3];
      });
    }
  }
  // Frequencies side by side in global memory: columns of tiles i and j that a lane has, the first one's number.
  template <int tiles, class Visit>
  DANAUS_DEVICE void for_each_pair(int first_tile, Visit visit) const {
    this->template for_each_tile<tiles>(first_tile, [&](int i) {
      const int place = 8 * (first_tile + i) + 2 * t();
      if constexpr (!layout.by_parity) {
        visit(i, 0, i, 1, place);
      } else if (parity_of(i, layout.step) == 0) {
        DANAUS_UNROLL
        for (int e = 0; e < 2; ++e) visit(i, e, i + layout.apart, e, frequency_at(place + e, layout.step));
      }
    });
  }
  static constexpr int kComplexWords = layout.halves ? 1 : 2;
  DANAUS_DEVICE u32* place_in(const Spectra& s, int item, int channel, int frequency) const {
    return s.data + kComplexWords * (s.item * (first_item_ + item) + s.channel * channel + frequency);
  }
  // Of a pair of frequencies re, im, re, im, or of the first, as many as there are.
  static DANAUS_DEVICE void read_pair(float (&numbers)[4], const u32* from, int count, bool pairs) {
    unpacked(numbers, load_pair<kComplexWords>(from, count, pairs).word);
  }
  template <int count, int words>
  static DANAUS_DEVICE void unpacked(float (&numbers)[count], const u32 (&word)[words]) {
    DANAUS_UNROLL
    for (int i = 0; i < words; ++i) {
      if constexpr (layout.halves) {
        numbers[2 * i] = device::lower_float<layout.key.dtype>(word[i]);
        numbers[2 * i + 1] = device::upper_float<layout.key.dtype>(word[i]);
      } else {
        numbers[i] = float_of(word[i]);
      }
    }
  }
  // re, im, re, im of two frequencies.
  static DANAUS_DEVICE void write_pair(u32* to, const float (&numbers)[4], int count, bool pairs) {
    Words<2 * kComplexWords> w;
    DANAUS_UNROLL
    for (int i = 0; i < 2 * kComplexWords; ++i)
      if constexpr (layout.halves)
        w[i] = device::pack2<layout.key.dtype>(numbers[2 * i], numbers[2 * i + 1]);
      else
        w[i] = stored<P>(numbers[i]);
    if (count >= 2 && pairs) {
      device::store_global<8 * kComplexWords>(to, w);
      return;
    }
    DANAUS_UNROLL
    for (int e = 0; e < 2; ++e) {
      if (e >= count) continue;
      Words<kComplexWords> one;
      DANAUS_UNROLL
      for (int i = 0; i < kComplexWords; ++i) one[i] = w[kComplexWords * e + i];
      device::store_global<4 * kComplexWords>(to + kComplexWords * e, one);
    }
  }

  // For a product.
  template <int tiles>
  DANAUS_DEVICE void keep_input(const Tile<tiles>& tile, int item, int channel_tile, int first_tile) const {
    // Of a tile's 8 units a product contracts 4 or 8.
    const int step = layout.halves ? channel_tile : 2 * channel_tile + g() / 4;
    const int unit = layout.halves ? 4 * g() : 8 * (g() % 4);
    const SharedAddress of_lane[2] = {u_address(item, 2 * t(), 0, step) + unit,
                                      u_address(item, 2 * t() + 1, 0, step) + unit};
    keep_units(tile, first_tile, of_lane, 8 * Layout::kUnits, at_.u_part);
  }
  // `of_lane`: where its frequencies of the first of all tiles are.
  template <int tiles>
  DANAUS_DEVICE void keep_units(const Tile<tiles>& tile, int first_tile, const SharedAddress (&of_lane)[2],
                                int tile_step, int part_step) const {
    this->template for_each_tile<tiles>(first_tile, [&](int i) {
      DANAUS_UNROLL
      for (int e = 0; e < 2; ++e) {
        const SharedAddress at = of_lane[e] + (first_tile + i) * tile_step;
        store_unit(at, tile.re[i][e], tile.re[i][2 + e]);
        store_unit(at + part_step, tile.im[i][e], tile.im[i][2 + e]);
      }
    });
  }
  // For the inverse, or for another pass.
  template <int tiles>
  DANAUS_DEVICE void put(const Tile<tiles>& tile, int item, int channel_tile, int first_tile) const {
    if constexpr (layout.to_samples && !layout.halves) {
      const SharedAddress of_channel = y_address(item, 2 * t(), 0) + 8 * (8 * channel_tile + g());
      keep_units(tile, first_tile, {of_channel, of_channel + at_.y_step}, 8 * at_.y_step, at_.y_part);
    } else if constexpr (layout.to_samples)
      this->template for_each_tile<tiles>(first_tile, [&](int i) {
        DANAUS_UNROLL
        for (int r = 0; r < 2; ++r)
          put_pair(item, 8 * (first_tile + i) + 2 * t(), 16 * channel_tile + g() + 8 * r,
                   {tile.re[i][2 * r], tile.im[i][2 * r], tile.re[i][2 * r + 1], tile.im[i][2 * r + 1]});
      });
    else
      for_each_pair<tiles>(first_tile, [&](int i, int first, int j, int second, int pair) {
        DANAUS_UNROLL
        for (int r = 0; r < 2; ++r)
          put_pair(item, pair, 16 * channel_tile + g() + 8 * r,
                   {tile.re[i][2 * r + first], tile.im[i][2 * r + first], tile.re[j][2 * r + second],
                    tile.im[j][2 * r + second]});
      });
  }
  struct Pair {
    float number[4];
  };
  // Of places side by side, or where they go to global memory frequencies.
  DANAUS_DEVICE void put_pair(int item, int first, int channel, const Pair& of, int count = 2) const {
    if constexpr (layout.to_samples && layout.halves) {
      DANAUS_UNROLL
      for (int part = 0; part < 2; ++part)
        device::store_shared<4>(y_address(item, first / 2, part) + 4 * channel,
                                {device::pack2<layout.key.dtype>(of.number[part], of.number[2 + part])});
    } else if constexpr (layout.to_samples) {
      const int place = 16 * (channel / 16) + 2 * (channel % 8) + channel / 8 % 2;
      DANAUS_UNROLL
      for (int i = 0; i < 4; ++i)
        if (i < 2 * count)
          device::store_shared<4>(y_address(item, first + i / 2, i % 2) + 4 * place, {operand<P>(of.number[i])});
    } else {
      const int frequency = first_frequency() + first;
      if (first_channel() + channel < a_.outputs)
        write_pair(place_in(a_.to, item, first_channel() + channel, frequency), of.number,
                   min(count, a_.frequencies - frequency), a_.to.pairs);
    }
  }
  static DANAUS_DEVICE void store_unit(SharedAddress to, float first, float second) {
    if constexpr (layout.halves)
      device::store_shared<4>(to, {device::pack2<layout.key.dtype>(first, second)});
    else
      device::store_shared<8>(to, {operand<P>(first), operand<P>(second)});
  }
};

}  // namespace danaus::layer::inline DANAUS_BACKEND
