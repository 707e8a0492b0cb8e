// Of the gradient of a spectral layer's weights: what its kernels are compiled for and given.
#pragma once

#include <cstdint>

#include "kernels/families/layer/layout.hpp"

namespace danaus::layer_gradient {

// sums: products of spectra summed over a part of the batch. total: dw, the sum of the parts.
enum class Stage { sums, total };

struct Key {
  Dtype dtype;
  bool tf32;  // f32 samples: products as layer::Key says
  Stage stage;
  bool operator==(const Key&) const = default;
  constexpr bool is_sample() const { return tf32 || dtype == Dtype::f16; }
};

struct Tuning {
  int blocks = 0;  // on an SM at once: what registers are limited for
  bool operator==(const Tuning&) const = default;
};

inline constexpr int kChannels = 32;    // of u and of dy that a block has
inline constexpr int kFrequencies = 8;  // one a warp
inline constexpr int kItems = 8;        // of the batch at once: those that one product contracts

// Spectra in shared memory, in words: real parts of 64 channels, those of u before those of dy, for each item; then
// imaginary parts; frequency by frequency. Steps keep lanes, g or t apart, in banks of their own.
struct Layout {
  Key key;
  Tuning tuning;

  constexpr Layout(const Key& k, const Tuning& t) : key(k), tuning(t) {}

  int threads = 32 * kFrequencies;
  bool packed = key.dtype != Dtype::f32;  // a complex number is a word
  bool halves = false;                    // products are of TF32, which holds 16-bit numbers as they are
  bool split = key.dtype == Dtype::f32 && !key.tf32;
  int item_words = 2 * kChannels + 8;
  int part_words = kItems * item_words;
  int frequency_words = 2 * part_words + 4;
  int shared_bytes = key.stage == Stage::sums ? 4 * kFrequencies * frequency_words : 0;

  constexpr const char* broken_rule() const { return tuning.blocks < 1 ? "blocks: at least 1" : nullptr; }
};

struct Arguments {
  layer::Spectra u, dy;  // read
  float* sums;           // [part, input, output, frequency or 1, 2]
  float* dw;             // [input, output, frequency or 1, 2]
  int items, inputs, outputs, frequencies;
  int item_parts, part_items;         // parts of the batch
  int frequency_parts, part_groups;   // parts of the frequencies, groups of kFrequencies of each
  int last_frequencies, last_length;  // of the last axis; its length is 0 where no frequency counts twice
  int parts;                          // that `sums` has
  bool shared;                        // one matrix for all frequencies
  bool more;                          // to be added to what is there
  float scale;                        // of dw
};

}  // namespace danaus::layer_gradient
