// Of short convolutions by few taps: what a kernel is compiled for and given.
#pragma once

#include <cstdint>

#include "kernels/memory/arguments.hpp"
#include "reference/basics.hpp"

namespace danaus::direct {

struct Key {
  Dtype dtype;
  bool channels_last;
  int taps;  // at most
  constexpr bool is_sample() const { return dtype == Dtype::bf16; }
  bool operator==(const Key&) const = default;
};

struct Tuning {
  int warps = 0;
  int run = 0;      // [B, H, L]: chunks of 8 samples that a lane has; [B, L, H]: samples of eight channels
  int at_once = 1;  // of those samples
  int blocks = 0;   // on an SM at once: what registers are limited for
  bool operator==(const Tuning&) const = default;
};

struct Layout {
  Key key;
  Tuning tuning;

  constexpr Layout(const Key& k, const Tuning& t) : key(k), tuning(t) {}

  int threads = 32 * tuning.warps;

  constexpr const char* broken_rule() const {
    if (tuning.warps < 1 || tuning.warps > 32) return "warps: 1 to 32";
    if (key.taps < 2 || key.taps > 9) return "taps: 2 to 9, those of a chunk and the one before";
    if (key.channels_last && tuning.run % tuning.at_once != 0) return "run: a multiple of at_once";
    return nullptr;
  }
};

struct Arguments {
  const void* u;         // [B, H, L], or [B, L, H]
  const void* pregate;   // likewise or null
  const void* postgate;  // likewise or null
  void* y;               // likewise
  const float* filters;  // [taps, H rounded up to 8]
  const float* bias;     // [H] or null
  int batch, channels, length;
  int lead;   // samples that u is ahead of y; of [B, H, L] a multiple of 8
  int runs;   // of a row
  int shift;  // of [B, H, L]: samples from an aligned address to where every array begins
  Transfer transfer;
};

}  // namespace danaus::direct
