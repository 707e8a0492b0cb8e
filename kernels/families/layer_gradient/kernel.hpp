// layer_gradient: the gradient of a spectral layer's weights, dw = sum of conj(U) dY over the batch, from spectra.
//
// source     the adjoint of the product over channels; derived
// shapes     U [B, C_in, M], dY [B, C_out, M] as passes of families/layer leave them; dw [C_in, C_out, M], or of shared
//            weights [C_in, C_out], summed over frequencies too
// types      spectra f16, bf16, f32; products TF32, which holds 16-bit numbers as they are, of f32 in two parts each
//            without TF32; sums fp32, in an order that the shapes fix
// scaling    by `scale`, 1 / N over that of both transforms; dY of frequencies that stand for a mirror image twice
// work       a block has 32 channels of u, 32 of dy, some groups of 8 frequencies, one a warp, and a part of the batch,
//            8 items at a time, which the products contract while those of the next are on their way; of shared weights
//            it adds up its warps' sums. Another launch adds the parts up
// error      that of its spectra   reference  reference/spectral/layer.hpp   test  tests/kernels/layer_test.cpp
#pragma once

#include "kernels/device/operations.hpp"
#include "kernels/families/layer/operand.hpp"
#include "kernels/families/layer_gradient/layout.hpp"

namespace danaus::layer_gradient::inline DANAUS_BACKEND {

template <Key key, Tuning tuning>
struct Shape {
  static constexpr Layout layout{key, tuning};
  static_assert(!layout.broken_rule(), "tunings.hpp has a line that Layout::broken_rule() refuses");
};

template <class P>
class Block {
 public:
  static constexpr Layout layout = P::layout;

  DANAUS_DEVICE explicit Block(const Arguments& a)
      : a_(a), warp_(device::warp_index()), g_(device::lane_index() / 4), t_(device::lane_index() % 4) {
    const int input_tiles = (a.inputs + kChannels - 1) / kChannels,
              output_tiles = (a.outputs + kChannels - 1) / kChannels;
    int block = device::block_index();
    input_ = kChannels * (block % input_tiles), block /= input_tiles;
    output_ = kChannels * (block % output_tiles), block /= output_tiles;
    frequency_part_ = block % a.frequency_parts, item_part_ = block / a.frequency_parts;
  }

  DANAUS_DEVICE void run() {
    device::let_next_grid_begin();
    device::wait_for_previous_grid();
    const int first_item = item_part_ * a_.part_items, end = min(first_item + a_.part_items, a_.items);
    const int chunks = end > first_item ? (end - first_item + kItems - 1) / kItems : 0, count = a_.part_groups * chunks;
    // Numbers of the next products come while these are multiplied.
    const auto bring_chunk = [&](int i) {
      bring(kFrequencies * (frequency_part_ * a_.part_groups + i / chunks), first_item + i % chunks * kItems, end);
    };
    if (count > 0) bring_chunk(0);
    DANAUS_UNROLL_BY(1)
    for (int i = 0; i < count; ++i) {
      if (i > 0) device::sync_block();
      put(kFrequencies * (frequency_part_ * a_.part_groups + i / chunks));
      device::sync_block();
      if (i + 1 < count) bring_chunk(i + 1);
      multiply();
    }
    store();
  }

 private:
  using A = layer::Operand<P, 4>;
  using B = layer::Operand<P, 2>;
  static constexpr int kInputTiles = kChannels / 16, kOutputTiles = kChannels / 8;

  DANAUS_DEVICE static SharedAddress address(int frequency, int part, int item, int channel) {
    return 4 * (frequency * layout.frequency_words + part * layout.part_words + item * layout.item_words + channel);
  }

  // A lane has two frequencies, side by side, of a channel of an item, in each of some tasks.
  static constexpr int kTasks = 2 * kChannels / 8, kComplexWords = layout.packed ? 1 : 2;
  DANAUS_DEVICE void bring(int first_frequency, int first_item, int end) {
    const int frequency = first_frequency + 2 * t_, item = first_item + warp_;
    DANAUS_UNROLL
    for (int task = 0; task < kTasks; ++task) {
      const bool of_u = task < kTasks / 2;
      const layer::Spectra& from = of_u ? a_.u : a_.dy;
      const int channel = (of_u ? input_ : output_ - kChannels) + 8 * task + g_;
      const int count =
          item < end && channel < (of_u ? a_.inputs : a_.outputs) ? max(a_.frequencies - frequency, 0) : 0;
      pairs_[task] = layer::load_pair<kComplexWords>(
          from.data + kComplexWords * (from.item * item + from.channel * channel + frequency), count, true);
    }
  }
  DANAUS_DEVICE void put(int first_frequency) const {
    DANAUS_UNROLL
    for (int task = 0; task < kTasks; ++task) DANAUS_UNROLL
    for (int e = 0; e < 2; ++e) {
      const float copies = task < kTasks / 2 ? 1.f : copies_of(first_frequency + 2 * t_ + e);
      float re, im;
      if constexpr (layout.packed) {
        const u32 word = pairs_[task][e];
        re = device::lower_float<layout.key.dtype>(word), im = device::upper_float<layout.key.dtype>(word);
      } else {
        re = float_of(pairs_[task][2 * e]), im = float_of(pairs_[task][2 * e + 1]);
      }
      device::store_shared<4>(address(2 * t_ + e, 0, warp_, 8 * task + g_), {word_of(copies * re)});
      device::store_shared<4>(address(2 * t_ + e, 1, warp_, 8 * task + g_), {word_of(copies * im)});
    }
  }
  // Of real samples a frequency stands for its mirror image too, unless it is its own.
  DANAUS_DEVICE float copies_of(int frequency) const {
    const int k = frequency % a_.last_frequencies;
    return k > 0 && 2 * k < a_.last_length ? 2.f : 1.f;
  }

  // re += U_re dY_re + U_im dY_im, im += U_re dY_im - U_im dY_re, of the warp's frequency.
  DANAUS_DEVICE void multiply() {
    const auto word = [&](int part, int item, int channel) {
      return device::load_shared<4>(address(warp_, part, item, channel))[0];
    };
    const auto of_u = [&](int part, int tile) {
      const u32 words[4] = {word(part, t_, 16 * tile + g_), word(part, t_, 16 * tile + g_ + 8),
                            word(part, t_ + 4, 16 * tile + g_), word(part, t_ + 4, 16 * tile + g_ + 8)};
      return A(words);
    };
    const auto of_dy = [&](int part, int tile) {
      const u32 words[2] = {word(part, t_, kChannels + 8 * tile + g_), word(part, t_ + 4, kChannels + 8 * tile + g_)};
      return B(words);
    };
    DANAUS_UNROLL
    for (int i = 0; i < kInputTiles; ++i) {
      const A u_re = of_u(0, i), u_im = of_u(1, i);
      A minus_im = u_im;
      minus_im.negate();
      DANAUS_UNROLL
      for (int o = 0; o < kOutputTiles; ++o) {
        const B dy_re = of_dy(0, o), dy_im = of_dy(1, o);
        layer::multiply_both<P>(re_[i][o], im_[i][o], u_re, minus_im, dy_re, u_im, u_re, dy_im);
      }
    }
  }

  DANAUS_DEVICE void store() const {
    const int frequency = kFrequencies * frequency_part_ + warp_;
    DANAUS_UNROLL
    for (int i = 0; i < kInputTiles; ++i) {
      if (a_.shared) {
        store_sum(i);
        continue;
      }
      if (frequency >= a_.frequencies) continue;
      DANAUS_UNROLL
      for (int slot = 0; slot < kSlots; ++slot)
        store_one(i, slot, item_part_, a_.frequencies, frequency, re_[i][slot / 4][slot % 4],
                  im_[i][slot / 4][slot % 4]);
    }
  }
  // Of weights that frequencies share, the warps' sums are one: each warp adds up what all have of some of its slots.
  static constexpr int kSlots = 4 * kOutputTiles, kSlotsOfWarp = kSlots / kFrequencies;
  DANAUS_DEVICE void store_sum(int i) const {
    const auto place_of = [&](int warp, int slot) { return 256 * (warp * kSlots + slot) + 8 * device::lane_index(); };
    device::sync_block();
    DANAUS_UNROLL
    for (int slot = 0; slot < kSlots; ++slot)
      device::store_shared<8>(place_of(warp_, slot),
                              {word_of(re_[i][slot / 4][slot % 4]), word_of(im_[i][slot / 4][slot % 4])});
    device::sync_block();
    for (int slot = kSlotsOfWarp * warp_; slot < kSlotsOfWarp * (warp_ + 1); ++slot) {
      float re = 0, im = 0;
      DANAUS_UNROLL
      for (int warp = 0; warp < kFrequencies; ++warp) {
        const auto words = device::load_shared<8>(place_of(warp, slot));
        re += float_of(words[0]), im += float_of(words[1]);
      }
      store_one(i, slot, item_part_ * a_.frequency_parts + frequency_part_, 1, 0, re, im);
    }
  }
  DANAUS_DEVICE void store_one(int i, int slot, int part, int matrices, int matrix, float re, float im) const {
    const int input = input_ + 16 * i + g_ + 8 * (slot % 4 / 2), output = output_ + 8 * (slot / 4) + 2 * t_ + slot % 2;
    if (input >= a_.inputs || output >= a_.outputs) return;
    const long long pair = (1ll * part * a_.inputs + input) * a_.outputs + output;
    float* const to = a_.sums + 2 * (pair * matrices + matrix);
    if (a_.more) {
      const auto before = device::load_global<8>(to);
      re += float_of(before[0]), im += float_of(before[1]);
    }
    device::store_global<8>(to, {word_of(re), word_of(im)});
  }

  const Arguments& a_;
  const int warp_, g_, t_;
  int input_, output_, frequency_part_, item_part_;
  Words<2 * kComplexWords> pairs_[kTasks];
  float re_[kInputTiles][kOutputTiles][4] = {}, im_[kInputTiles][kOutputTiles][4] = {};
};

// A complex number of dw a thread.
template <class P>
DANAUS_DEVICE void add_up(const Arguments& a) {
  device::let_next_grid_begin();
  device::wait_for_previous_grid();
  const long long count = 1ll * a.inputs * a.outputs * (a.shared ? 1 : a.frequencies);
  for (long long i = 1ll * device::block_index() * P::layout.threads + device::thread_index(); i < count;
       i += 1ll * device::block_count() * P::layout.threads) {
    float re = 0, im = 0;
    for (int part = 0; part < a.parts; ++part) {
      const auto words = device::load_global<8>(a.sums + 2 * (part * count + i));
      re += float_of(words[0]), im += float_of(words[1]);
    }
    device::store_global<8>(a.dw + 2 * i, {word_of(a.scale * re), word_of(a.scale * im)});
  }
}

template <class P, Path path>
DANAUS_DEVICE void run(const Arguments& a) {
  if constexpr (P::layout.key.stage == Stage::total)
    add_up<P>(a);
  else
    Block<P>(a).run();
}

}  // namespace danaus::layer_gradient::inline DANAUS_BACKEND
