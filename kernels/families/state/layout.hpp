// Of a convolution by a state-space model: what its kernels are compiled for and given, and the sizes and places that
// follow.
#pragma once

#include <cstdint>

#include "kernels/memory/arguments.hpp"
#include "reference/state/state.hpp"

namespace danaus::state {

enum class Work {
  convolve,  // y, and the final state, of rows whose initial state is known
  ends,      // of parts of rows: the state that a part leaves where nothing was before it
  carry,     // from part to part: the state that each begins with
  prepare,   // matrices of the channels
  step,      // y and the final state of few samples, by the recurrence
};
constexpr bool is_product(Work work) { return work == Work::convolve || work == Work::ends; }

struct Key {
  Dtype dtype;
  int states;  // a channel has up to so many; 0 where a kernel takes any number
  Work work;
  bool group = false;  // products of four warps at once, of an H100 or H200 alone (group.hpp)
  constexpr bool has_path(Path path) const { return path == Path::threads || (group && path == Path::tensor); }
  constexpr bool is_sample() const { return (states == 64 || states == 0) && dtype == Dtype::f16; }
  bool operator==(const Key&) const = default;
};

struct Tuning {
  int chunk = 0;         // T
  int at_once = 1;       // chunks of a row that a matrix is read once for
  int stage = 0;         // samples of a row that come at once; of a group, of its ring
  bool gathers = false;  // y, in the place of u, and writes it a stage at a time; else as it comes
  int row_tiles = 0;     // of 16 rows that a warp has
  int warps = 0;
  int blocks = 0;  // on an SM at once: what registers are limited for
  bool operator==(const Tuning&) const = default;
};

// Samples are in groups of 32, eight neighbours to a lane: what a lane loads and stores at once. States are in tiles of
// four, re and im beside each other: the eight columns of a product.
//
// What is prepared of a channel, in words. In shared memory: matrices as fragments of mma, vectors of 32 lanes x 4
// words,
//   in [state tile, group]                  (B / scale) A^(T-1-i): of u, what the chunk adds to the state
//   decay [S, 2], y_scale, scale [S]        A^T; powers of two
//   out [pair of state tiles, group, 2]     C scale A^(i+1) / y_scale: of the state before it, what y has
//   toeplitz [groups apart, half group, 2]  k[i] / y_scale: of u, what y has
// For products of a group matrices are lines of 64 points, a column each, 64 points of all columns after the other:
//   in [64 samples, S, 2, 64], out [32 states, T, 64], toeplitz [64 samples, T, 64]
// of which ends need the first two, in and decay. Elsewhere what the other places say, [S, 2]; and for ends of many
// rows, from pass_begin on, the first two of chunks as long as a pass.
struct Layout {
  Key key;
  Tuning tuning;

  constexpr Layout(const Key& k, const Tuning& t) : key(k), tuning(t) {}

  bool is_product = state::is_product(key.work);
  int threads = 32 * tuning.warps;
  int groups = tuning.chunk / 32;
  int parts = key.states > 128 ? 2 : 1;  // of the states, each a warp's
  int tiles = key.states / 4, warp_tiles = tiles / parts;
  int warp_rows = 16 * tuning.row_tiles;
  int row_warps = tuning.warps / parts;
  int block_rows = warp_rows * row_warps;
  int pass = tuning.chunk * tuning.at_once;                          // samples
  bool whole_pass = tuning.at_once > 1 || groups == 1 || key.group;  // all of its samples are in registers
  int row_bytes = 2 * tuning.stage, stage_bytes = warp_rows * row_bytes;

  int in_vectors = tiles * groups;
  int decay = 128 * in_vectors, y_scale = decay + 2 * key.states, scale = y_scale + 4, in_words = scale + key.states;
  int out_begin = (in_words + 255) / 256 * 2, toeplitz_begin = out_begin + tiles * groups;  // vectors
  int vectors = toeplitz_begin + 4 * groups * (key.group ? groups : 1);
  int shared_words = key.work == Work::ends ? in_words : 128 * vectors;
  int a = shared_words, b = a + 2 * key.states, c = b + 2 * key.states;
  int tail_decay = c + 2 * key.states;           // A^(L mod T)
  int part_decay = tail_decay + 2 * key.states;  // A^n, n the samples of a part of a row
  int last_decay = part_decay + 2 * key.states;  // of the last part
  int pass_begin = last_decay + 2 * key.states, pass_vectors = tuning.at_once * in_vectors;
  int pass_decay = pass_begin + 128 * pass_vectors, pass_scale = pass_decay + 2 * key.states + 4;
  int pass_end = pass_scale + key.states;

  // Shared memory, in bytes: of each warp its rows, what they have in common, and two stages of their samples; sums of
  // y that are another warp's.
  int rows_begin = 4 * shared_words, rows_bytes = 16 * (warp_rows + 1);
  int stages_begin = rows_begin + rows_bytes * tuning.warps;
  int sums_begin = stages_begin + 2 * stage_bytes * tuning.warps;
  int sums_bytes = parts > 1 ? 128 * warp_rows : 0;
  // Of a group matrices, and of each warp a ring of chunks, with a barrier for each; whether warps have met samples
  // that are not finite, and where rows end before them.
  int slots = tuning.stage / 64, slot_bytes = 128 * warp_rows;
  int ring_begin = (4 * shared_words + 1023) / 1024 * 1024;
  int barriers_begin = ring_begin + slot_bytes * slots * tuning.warps;
  int cuts_begin = barriers_begin + 8 * slots * tuning.warps;
  int shared_bytes = key.group ? cuts_begin + 16 + 4 * block_rows : sums_begin + sums_bytes * tuning.warps;

  // Of the kernel that prepares, in shared memory: of each state A^n, n <= T, two of them 16 bytes; B / scale and C
  // scale; k.
  int power_stride = tuning.chunk + 2;
  int scaled_begin = 8 * power_stride * key.states, taps_begin = scaled_begin + 16 * key.states;
  int prepare_bytes = taps_begin + 4 * tuning.chunk;

  constexpr const char* broken_rule() const {
    if (!is_product) return nullptr;
    if (key.states < 16 || key.states % 16 != 0) return "states: a multiple of 16";
    if (tuning.chunk < 32 * parts || (tuning.chunk & (tuning.chunk - 1)) != 0)
      return "chunk: a power of two, from 32 on, and a group for each part of the states";
    if (tuning.chunk > 256) return "chunk: at most 256 samples, of which a thread that prepares has a tap";
    if (tuning.at_once < 1) return "chunks at once: one at least";
    if (tuning.stage < 64 || tuning.stage % 64 != 0 || tuning.stage % pass != 0)
      return "stage: a multiple of the chunks at once, and of 128 bytes of a row";
    if (tuning.gathers && !whole_pass) return "y in the place of u: of passes that nothing reads again";
    if (whole_pass && parts > 1) return "chunks at once: of one part of the states";
    if (tuning.warps % parts != 0) return "warps: as many for each part of the states";
    if (!key.group) return nullptr;
    if (tuning.warps != 4 || tuning.row_tiles != 1 || parts != 1)
      return "a group: four warps of 16 rows, with all states";
    if (key.states % 32 != 0 || tuning.chunk != 64 || tuning.at_once != 1)
      return "a group: lines and chunks of 64 points";
    return nullptr;
  }
};

struct Arguments {
  TensorMap u_map, y_map;   // of a group in bulk: [B, H, L], chunks of a warp's rows
  Layout layout{{}, {}};    // of the matrices
  const void* u;            // [B, H, L]
  void* y;                  // [B, H, L]
  const float* x_initial;   // [B, P, H, S, 2], null where it is zero
  float* x_final;           // [B, H, S, 2], null where it is not wanted
  float* x_parts;           // [B, P, H, S, 2]: ends, which carry replaces by what each part begins with
  const float *a, *b, *c;   // [H, S, 2]
  std::uint32_t* prepared;  // [H, channel_words]
  int channel_words;        // the layout's pass_end, or pass_begin where no ends need what follows
  long long part_length;    // of the P parts of a row but the last, whole passes; of a whole row at least L
  int length, batch, channels, states, parts;
  int ends;        // parts of a row whose ends are computed: the last one's only where x_final is wanted
  int ends_begin;  // of what they keep: 0 or the layout's pass_begin
  bool in_bulk;    // by the maps
  bool aligned;    // 8 samples are one access: rows begin at 16 bytes, L is a multiple of 8
};

// A group has rows of one part of a row of the batch, others whatever comes next.
constexpr std::int64_t blocks_of_channel(const Layout& layout, std::int64_t batch, std::int64_t parts) {
  const auto blocks = [&](std::int64_t rows) { return (rows + layout.block_rows - 1) / layout.block_rows; };
  return layout.key.group ? parts * blocks(batch) : blocks(batch * parts);
}

}  // namespace danaus::state
