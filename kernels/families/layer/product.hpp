// The product with the weights of a layer.
#pragma once

#include "kernels/families/layer/spectra.hpp"

namespace danaus::layer::inline DANAUS_BACKEND {

template <class P>
class BlockProduct : protected BlockSpectra<P> {
 public:
  using Base = BlockSpectra<P>;
  using Base::Base;

 protected:
  static constexpr Layout layout = P::layout;
  using Base::a_, Base::at_, Base::first_channel, Base::first_frequency, Base::g, Base::is_whole, Base::items, Base::t,
      Base::u_address, Base::put_pair;
  using A = Operand<P, 4>;
  using B = Operand<P, 2>;

  template <bool shared = false>
  DANAUS_DEVICE Words<4> weights(int matrix, int output_tile, int step, int part) const {
    const int steps = at_.input_tiles * layout.steps_of_tile;
    if constexpr (shared)
      return device::load_shared<16>(at_.weights_at + 512 * (2 * (output_tile * steps + step) + part) +
                                     16 * device::lane_index());
    const int tiles = (a_.outputs + 15) / 16;
    const long long vector = ((1ll * matrix * tiles + first_channel() / 16 + output_tile) * steps + step) * 2 + part;
    return device::load_global<16>(a_.weights + (vector * 32 + device::lane_index()) * 4);
  }
  // A lane's part of what is at u_address().
  DANAUS_DEVICE static B spectrum(SharedAddress from) {
    const Words<2> w = device::load_shared<8>(from + 8 * t());
    return B(w.word);
  }

  // V, of a tile that is zero; frequencies share the weights. U is waited for when the first of these are on their way.
  template <int tiles, class Wait>
  DANAUS_DEVICE void mix(Tile<tiles>& tile, int item, int output_tile, int first_tile, int chunk, Wait wait) const {
    if (first_channel() + 16 * output_tile >= a_.outputs) {
      wait();
      return;
    }
    // Operands in two parts leave no registers for one more of these, but in teams.
    constexpr bool kShared = !layout.split || layout.in_teams;
    if (kShared && is_whole(tiles, first_tile) && at_.weights_at >= 0)
      mix_tiles<true, kShared>(tile, item, output_tile, first_tile, chunk, wait);
    else if (is_whole(tiles, first_tile))
      mix_tiles<true, false>(tile, item, output_tile, first_tile, chunk, wait);
    else
      mix_tiles<false, false>(tile, item, output_tile, first_tile, chunk, wait);
  }
  template <bool whole, bool shared, int tiles, class Wait>
  DANAUS_DEVICE void mix_tiles(Tile<tiles>& tile, int item, int output_tile, int first_tile, int chunk,
                               Wait wait) const {
    const int steps = min(at_.chunk_tiles, at_.input_tiles - chunk) * layout.steps_of_tile;
    const auto weights_at = [&](int step, int part) {
      return weights<shared>(0, output_tile, chunk * layout.steps_of_tile + step, part);
    };
    // Weights of the next steps come while one is multiplied, or where that takes no time those of four at once.
    constexpr int kAhead = tiles == 1 ? 0 : shared ? 1 : layout.weights_ahead;
    Words<4> re[2], im[2];
    const auto load = [&](int step, int slot) { re[slot] = weights_at(step, 0), im[slot] = weights_at(step, 1); };
    if (kAhead < 2) wait();
    DANAUS_UNROLL
    for (int i = 0; i < kAhead; ++i) load(i, i);
    if (kAhead == 2) wait();
    SharedAddress from = u_address(item, 8 * first_tile + g(), 0, 0);
    const auto multiply_step = [&](int step, int slot) {
      if constexpr (kAhead == 0) load(step, slot);
      const A w_re(re[slot].word), w_im(im[slot].word);
      if (kAhead > 0 && step + kAhead < steps) load(step + kAhead, slot);
      A minus_im = w_im;
      minus_im.negate();
      this->template for_each_tile<tiles, whole>(first_tile, [&](int i) {
        const SharedAddress at = from + 8 * Layout::kUnits * i;
        const B u_re = spectrum(at), u_im = spectrum(at + at_.u_part);
        multiply_both<P>(tile.re[i], tile.im[i], w_re, w_im, u_re, minus_im, w_re, u_im);
      });
      from += at_.u_step;
    };
    if constexpr (kAhead == 2) {
      DANAUS_UNROLL_BY(1)
      for (int step = 0; step < steps; step += 2) {
        multiply_step(step, 0);
        multiply_step(step + 1, 1);
      }
    } else {
      DANAUS_UNROLL_BY(kAhead > 0 ? 1 : 4)
      for (int step = 0; step < steps; ++step) multiply_step(step, 0);
    }
  }
  // V of 16 channels at one or two frequencies with weights of their own: items of the batch are the columns.
  template <int count>
  DANAUS_DEVICE void mix_places(int output_tile, int first) const {
    if (first_channel() + 16 * output_tile >= a_.outputs) return;
    float re[count][4] = {}, im[count][4] = {};
    const int item = min(g(), items() - 1);
    DANAUS_UNROLL
    for (int e = 0; e < count; ++e) {
      const int place = first + e,
                frequency = first_frequency() + (layout.by_parity ? frequency_at(place, layout.step) : place);
      if (frequency >= a_.frequencies) continue;
      DANAUS_UNROLL_BY(layout.split ? 2 : 4)
      for (int step = 0; step < at_.input_tiles * layout.steps_of_tile; ++step) {
        const A w_re(weights(frequency, output_tile, step, 0).word),
            w_im(weights(frequency, output_tile, step, 1).word);
        A minus_im = w_im;
        minus_im.negate();
        const B u_re = spectrum(u_address(item, place, 0, step)), u_im = spectrum(u_address(item, place, 1, step));
        multiply_both<P>(re[e], im[e], w_re, w_im, u_re, minus_im, w_re, u_im);
      }
    }
    DANAUS_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int column = 2 * t() + i % 2, channel = 16 * output_tile + g() + 8 * (i / 2);
      if (column >= items()) continue;
      if constexpr (count == 2)
        put_pair(column, first, channel, {re[0][i], im[0][i], re[1][i], im[1][i]});
      else
        put_pair(column, first, channel, {re[0][i], im[0][i]}, 1);
    }
  }
};

}  // namespace danaus::layer::inline DANAUS_BACKEND
