// Of short convolutions by few taps: what a kernel is compiled for and given.
#pragma once

#include <cstdint>

#include "kernels/memory/arguments.hpp"
#include "reference/basics.hpp"

namespace danaus::direct {

inline constexpr int kWarpChannels = 64;  // [B, L, H]: of a warp, 128 bytes of a sample
inline constexpr int kStageSamples = 16;  // that a warp copies at a time

struct Key {
  Dtype dtype;
  bool channels_last;
  int taps;                 // at most
  int skipped = 0;          // taps before those, none of which the filter may have
  bool correlates = false;  // has dk and dbias too, out of what it reads for du
  constexpr bool is_sample() const { return dtype == Dtype::bf16; }
  bool operator==(const Key&) const = default;
};

struct Tuning {
  int warps = 0;
  int run = 0;     // [B, H, L]: chunks of 8 samples that a lane has; [B, L, H]: samples of a warp's run, at most
  int blocks = 0;  // on an SM at once: what registers are limited for
  int stages = 1;  // [B, L, H]: of a warp's ring
  bool operator==(const Tuning&) const = default;
};

struct Layout {
  Key key;
  Tuning tuning;

  constexpr Layout(const Key& k, const Tuning& t) : key(k), tuning(t) {}

  int threads = 32 * tuning.warps;
  int stage_bytes = 2 * kWarpChannels * kStageSamples;  // of one array

  int sums_bytes = 4 * 32 * (key.taps + 1);  // of a warp

  // [B, L, H]: rings of so many arrays; [B, H, L]: lanes' sums.
  constexpr int shared_bytes(int arrays) const {
    if (key.channels_last) return tuning.warps * tuning.stages * stage_bytes * arrays;
    return key.correlates ? tuning.warps * sums_bytes : 0;
  }

  constexpr const char* broken_rule() const {
    if (tuning.warps < 1 || tuning.warps > 32) return "warps: 1 to 32";
    if (!key.channels_last && (key.taps < 2 || key.skipped + key.taps > 9))
      return "taps of [B, H, L]: 2 to 9, those of a chunk and the one before";
    if (!key.channels_last) return nullptr;
    if (key.skipped > 0) return "skipped: none of [B, L, H]";
    if (key.taps < 2 || kStageSamples % key.taps != 0) return "taps of [B, L, H]: 2, 4, 8 or 16, which divide a stage";
    if (tuning.run % kStageSamples != 0) return "run: whole stages";
    if (tuning.stages < 2) return "stages: 2 at least";
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
  int run;    // [B, L, H]: samples of one
  int runs;   // of a row
  int parts;  // that the runs of a channel are shared out into; without sums one for each
  int shift;  // of [B, H, L]: samples from an aligned address to where every array begins
  Transfer transfer;
  // Of kernels with sums, whose u is dy and whose y is du; taps are those of the filter from its end on.
  const void* x;  // the convolution's u
  float* sums;    // [parts, H, count + 1]: lags, and the sum of dy
  int count;      // taps
  int delay;      // taps of the kernel before the first
};

}  // namespace danaus::direct
