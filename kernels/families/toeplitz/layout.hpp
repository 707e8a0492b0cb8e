// Of short convolutions on tensor cores: what a kernel is compiled for and given, and the sizes that follow.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/memory/arguments.hpp"
#include "kernels/memory/stream_layout.hpp"
#include "reference/basics.hpp"

namespace danaus::toeplitz {

struct Key {
  Dtype dtype;
  bool channels_last;
  int blocks;  // Toeplitz blocks of 32 x 32 samples: the filter has 32 (blocks - 1) + 1 taps at most
  constexpr bool is_sample() const { return dtype == Dtype::bf16 && (blocks == 3 || blocks == 9); }
  constexpr int most_taps() const { return 32 * (blocks - 1) + 1; }
  bool operator==(const Key&) const = default;
};

struct Tuning {
  int warps = 0;
  int line = 0;        // blocks of a line, at most
  int groups = 1;      // of eight channels that a block has, where they are last
  int run = 1;         // streams of a warp, at most, where it has rows: of two or more the next comes meanwhile
  int blocks = 0;      // on an SM at once: what registers are limited for
  bool lines = false;  // are computed at once; else block by block, and as long as rows want them
  bool ahead = false;  // where channels are last, the next one's filter comes while this one is computed
  int pieces = 9;      // of 16 bytes that a lane has under way, where channels are last
  bool operator==(const Tuning&) const = default;
};

struct Layout {
  Key key;
  Tuning tuning;

  constexpr Layout(const Key& k, const Tuning& t) : key(k), tuning(t) {}

  int threads = 32 * tuning.warps;
  int halo = key.blocks - 1;            // blocks before a line that its outputs need
  int places = tuning.run > 1 ? 2 : 1;  // of a warp, for streams of rows
  int streams = key.channels_last ? 8 * tuning.groups : tuning.warps * places;  // that a block has room for
  int least_line = tuning.lines ? tuning.line : kLeastLine;                     // blocks
  int line_bits = std::countr_zero(static_cast<unsigned>(tuning.line));

  constexpr StreamLayout stream(int shift) const { return {shift, halo}; }

  constexpr const char* broken_rule() const {
    if (tuning.warps < 1 || tuning.warps > 32) return "warps: 1 to 32";
    if (key.blocks < 2) return "blocks of the filter: 2 at least";
    if (tuning.line < kLeastLine || (tuning.line & (tuning.line - 1)) != 0) return "line: a power of two from 2 on";
    if (tuning.groups != 1 && tuning.groups != 2 && tuning.groups != 4 && tuning.groups != 8)
      return "groups: 1, 2, 4, 8";
    if (tuning.run < 1) return "run: one stream at least";
    if (key.channels_last && tuning.run > 1) return "run: of rows, not of channels last";
    if (!key.channels_last && tuning.ahead) return "ahead: of channels last";
    if (tuning.pieces < 2) return "pieces: two at least";
    if (key.channels_last && streams % tuning.warps != 0) return "warps: as many channels each";
    return nullptr;
  }
};

// Words of a channel's filter as the kernel reads it: for both parities p of a lane's sample, pairs of taps
// 2 (i - 16) + p in the lower half and the one before in the upper, zero beyond the filter.
constexpr int pairs_of(int blocks) { return 16 * (blocks + 1); }

struct Arguments {
  const void* u;                 // [B, H, L], or [B, L, H]
  const void* pregate;           // likewise or null
  const void* postgate;          // likewise or null
  void* y;                       // likewise
  const std::uint32_t* filters;  // [H, 2, pairs_of(blocks)]
  const float* bias;             // [H] or null
  int batch, channels, length;
  int count;  // taps
  int delay;  // of the first tap
  int lead;   // samples that the stream of u is ahead of that of y, a multiple of 8
  int line;   // the binary logarithm of a line's blocks
  int tiles;  // streams of a row
  int run;    // of [B, H, L]: streams that a warp has, one after the other
  int shift;  // of [B, H, L]: samples from an aligned address to where every array begins
  Transfer transfer;
};

}  // namespace danaus::toeplitz
