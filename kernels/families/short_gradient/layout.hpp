// Of a short convolution's dk and dbias: what the kernels are compiled for and given.
#pragma once

#include <cstdint>

#include "kernels/memory/arguments.hpp"
#include "kernels/memory/stream_layout.hpp"
#include "reference/basics.hpp"

namespace danaus::short_gradient {

struct Key {
  Dtype dtype;
  bool channels_last;
  int blocks;          // of 32 lags: one more than are needed for whole ones
  bool total = false;  // the kernel that adds up what the parts of a channel gave
  constexpr bool is_sample() const { return dtype == Dtype::bf16 && (total || blocks == 3 || blocks == 9); }
  constexpr int most_taps() const { return 32 * (blocks - 1) + 1; }
  bool operator==(const Key&) const = default;
};

struct Tuning {
  int warps = 0;
  int line = 0;    // blocks of a line, at most
  int blocks = 0;  // on an SM at once: what registers are limited for
  int pieces = 4;  // [B, L, H]: of 16 bytes that a lane has under way
  bool operator==(const Tuning&) const = default;
};

struct Layout {
  Key key;
  Tuning tuning;

  constexpr Layout(const Key& k, const Tuning& t) : key(k), tuning(t) {}

  int threads = 32 * tuning.warps;
  int halo = key.blocks - 1;
  int lag_tiles = 4 * halo + 2;  // of 8 lags and the 16 samples of dy that they are counted from

  constexpr StreamLayout u(int shift) const { return {shift, halo}; }
  constexpr StreamLayout dy(int shift) const { return {shift, 0}; }
  // The kernel that adds up has a sum of each thread.
  constexpr int shared_bytes(int shift) const {
    return key.total ? 4 * threads : tuning.warps * (u(shift).bytes() + dy(shift).bytes());
  }

  constexpr const char* broken_rule() const {
    if (tuning.warps < 1 || tuning.warps > 32) return "warps: 1 to 32";
    if (key.total) return nullptr;
    if (key.blocks < 2) return "blocks of lags: 2 at least";
    if (key.channels_last && tuning.warps % kGroupChannels != 0) return "warps: one for each channel of whole groups";
    if (tuning.line < kLeastLine || (tuning.line & (tuning.line - 1)) != 0) return "line: a power of two from 2 on";
    return nullptr;
  }
};

struct Arguments {
  const void* u;         // [B, H, L], or [B, L, H]
  const void* dy;        // likewise
  const void* pregate;   // likewise or null
  const void* postgate;  // likewise or null
  float* sums;           // [parts, H, count + 1]: lags, and the sum of dy
  float* dk;             // [H, count]
  float* dbias;          // [H] or null
  int batch, channels, length;
  int count;  // taps
  int lead;   // samples that the stream of u is ahead of that of dy; of [B, H, L] a multiple of 8
  int delay;  // the lag of the first tap
  int line;   // the binary logarithm of a line's blocks
  int tiles;  // streams of a row
  int parts;  // of a channel
  int shift;  // of [B, H, L]: samples from an aligned address to where every array begins
  Transfer transfer;
};

}  // namespace danaus::short_gradient
