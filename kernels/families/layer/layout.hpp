// Of a spectral layer: what its kernel is compiled for and given, and the sizes and places that follow.
#pragma once

#include <cstdint>

#include "kernels/memory/divisor.hpp"
#include "reference/spectral/spectral.hpp"

namespace danaus::layer {

// What one kernel does of a layer: all of it, or a pass of it whose spectra come from global memory or go there.
//   layer    samples, their transform, the product, the inverse, samples
//   there    samples, their transform and, of two axes, the product with the matrix of the other axis; spectra
//   middle   spectra, the product; spectra
//   back     spectra and, of two axes, the product with the matrix of the other axis; the inverse, samples
//   filter   spectra of rows, of which the transform of columns keeps some frequencies; their inverse, samples
//   arrange  prepares weights
enum class Stage { layer, there, middle, back, filter, arrange };

// With one matrix for all frequencies, or with one for each.
enum class Product { none, shared, each };

struct Key {
  Dtype dtype;
  bool tf32;     // f32 samples: operands of products rounded to TF32; else each in two parts, three products
  bool complex;  // samples
  Stage stage;
  Product product;
  constexpr bool is_sample() const { return complex && product != Product::each && (tf32 || dtype == Dtype::f16); }
  bool operator==(const Key&) const = default;
};

struct Tuning {
  int warps = 0;
  int tiles = 0;         // of 8 frequencies that a warp transforms at once
  int mixed = 0;         // of 8 frequencies that a warp mixes at once; of a filter, of points of a column that it makes
  int points = 0;        // tiles of 8 points that a warp makes at once, of each of four parts of a row
  int blocks = 0;        // on an SM at once: what registers are limited for
  int teams = 0;         // of a block's warps, each with an item of its own, whose results stay in registers; or 0
  int staged = 0;        // of teams, steps of points of complex samples that are on their way to a warp
  bool cluster = false;  // of blocks that have slices of one item's outputs, and share out its transforms
  bool operator==(const Tuning&) const = default;
};

// Even and odd frequencies of those kept are in different tiles of 8, as many as a step contracts of each in turn:
// which of them is in a place among the tiles, and of which kind a tile's are.
DANAUS_HOST_AND_DEVICE constexpr int frequency_at(int place, int step) {
  return place / (2 * step) * (2 * step) + place % step * 2 + place / step % 2;
}
DANAUS_HOST_AND_DEVICE constexpr int place_at(int frequency, int step) {
  return frequency / (2 * step) * (2 * step) + frequency % 2 * step + frequency % (2 * step) / 2;
}
DANAUS_HOST_AND_DEVICE constexpr int parity_of(int tile, int step) { return tile / (step / 8) % 2; }

// Of a filter, what makes samples of rows.
constexpr Key rows_of(Key filter) {
  filter.stage = Stage::back;
  return filter;
}

// What a block has, and where its spectra are in shared memory, in bytes; sizes that depend on the case.
struct Places {
  int input_tiles, output_tiles;           // of 16 channels
  int chunk_tiles;                         // of inputs whose spectra are there at once: all, or in chunks some
  int frequency_tiles;                     // of 8 kept frequencies
  Divisor frequency_groups, mixed_groups;  // of as many tiles as a warp transforms or mixes at once
  int columns;                             // items of the batch
  int u_part, u_step, u_column;  // steps: to imaginary parts, to channels of the next product, to the next item
  int y_part, y_step, y_column;  // steps: likewise, in 16 bits of pairs of frequencies
  int y_begin, bytes;            // of all
  int barriers_at;               // two of each team; one of a cluster's block
  int staged_at;                 // points, of each warp, of each step, or -1
  int parts, parts_at;           // that the points of a tile are shared out in; their sums, or -1
  int forward_at, inverse_at;    // tables, or -1
  int shares, share_tiles;       // blocks of a cluster, and tiles of inputs that each transforms for all
  int weights_at;                // the matrix, or -1
  bool in_place;                 // a warp has one product at most, and stores it when all have read their inputs
};

// A warp's tile of channels has 16, channel g beside g + 8, a unit. Spectra of inputs are, product by product of those
// that contract channels, all real parts, then all imaginary parts, frequency by frequency. Those of outputs are,
// frequency by frequency, all real parts, then all imaginary parts, in units, in 16 bits of each pair of frequencies 2
// j, 2 j + 1, channel by channel; steps between frequencies are 8 words more than a multiple of 32, so that a
// fragment's lanes, g or t apart, do not meet in a bank.
struct Layout {
  Key key;
  Tuning tuning;

  constexpr Layout(const Key& k, const Tuning& t) : key(k), tuning(t) {}

  // Points are a row apart, channels are frequencies side by side: of a tile a lane has 2 g and 2 g + 1, which are one
  // access, not g and g + 8; in 16 bits two of one parity, which are a word for the product that follows.
  bool in_columns = key.stage == Stage::filter;
  bool from_samples = key.stage == Stage::layer || key.stage == Stage::there || in_columns;
  bool to_samples = key.stage == Stage::layer || key.stage == Stage::back || in_columns;
  bool halves = key.dtype != Dtype::f32;
  bool split = key.dtype == Dtype::f32 && !key.tf32;
  int threads = 32 * tuning.warps;
  int number_bytes = halves ? 2 : 4;
  int step = halves ? 16 : 8;          // of points or frequencies that one product contracts
  int step_tiles = step / 8;           // of as many, eight each
  int lane_points = halves ? 4 : 2;    // consecutive ones of a lane
  int words = key.complex ? 4 : 2;     // of those
  int steps_of_tile = halves ? 1 : 2;  // products that contract 16 channels
  int point_tiles = in_columns ? tuning.mixed : tuning.points;
  bool in_teams = tuning.teams > 0 && key.product == Product::shared&& key.stage != Stage::middle;
  bool in_chunks = in_teams && !to_samples;  // sums stay in registers, spectra of some inputs follow those of others
  // What blocks share out beside items: frequencies, or channels where one needs no other's; both where frequencies
  // have weights of their own.
  bool slices_frequencies = key.product != Product::none && !to_samples && !in_teams;
  bool slices_channels = !slices_frequencies || (key.stage == Stage::middle && key.product == Product::each);
  int team_warps = in_teams ? tuning.warps / tuning.teams : tuning.warps;
  int staged = in_teams && from_samples && key.complex ? tuning.staged : 0;
  // Steps of weights that are on their way from L2 to registers: two where a warp has 255 of these and steps come in
  // pairs; operands in two parts leave no room for that.
  int weights_ahead = in_teams && to_samples && steps_of_tile == 2 && !split && threads * tuning.blocks <= 256 ? 2 : 1;
  bool in_cluster = tuning.cluster && key.stage == Stage::layer && key.product == Product::shared;
  bool in_parts = from_samples && !in_teams;    // points, where there are more warps than tiles to transform
  bool by_parity = from_samples || to_samples;  // frequencies are in places by frequency_at(), else in order
  int apart = by_parity ? step_tiles : 0;       // tiles between those of a frequency and of the next one

  int tile_grain = (by_parity ? 2 : 1) * step_tiles;  // tiles come in as many

  constexpr const char* broken_rule() const {
    if (tuning.warps < 1 || tuning.warps > 32) return "warps: 1 to 32";
    if (tuning.tiles < 1 || tuning.tiles % tile_grain != 0) return "tiles: a multiple of 2, in 16 bits of 4";
    // Other passes have frequencies in order, even ones beside odd ones.
    const bool in_pairs = from_samples && !to_samples && key.product != Product::none;
    if (tuning.mixed < 1 || (in_pairs && tuning.mixed % tile_grain != 0))
      return "mixed: 1 or more, there a multiple of 2, in 16 bits of 4";
    if (in_teams && tuning.warps % tuning.teams != 0) return "teams: of as many warps each";
    if (in_teams && in_cluster) return "cluster: of blocks without teams";
    if (in_columns && 8 * tuning.mixed % step != 0) return "mixed: of a filter in 16 bits an even number";
    if (tuning.points < 1 || 8 * tuning.points % step != 0) return "points: 1 or more, in 16 bits an even number";
    return nullptr;
  }

  constexpr int tiles_of(int frequencies) const {
    return (frequencies + 8 * tile_grain - 1) / (8 * tile_grain) * tile_grain;
  }
  constexpr Places places(int inputs, int outputs, int frequencies, int columns) const {
    const auto apart = [](int bytes) { return (bytes + 127) / 128 * 128 + 32; };
    Places p{};
    p.input_tiles = (inputs + 15) / 16, p.output_tiles = (outputs + 15) / 16;
    p.frequency_tiles = tiles_of(frequencies);
    p.frequency_groups = (p.frequency_tiles + tuning.tiles - 1) / tuning.tiles;
    p.mixed_groups = (p.frequency_tiles + tuning.mixed - 1) / tuning.mixed;
    p.columns = columns;
    const int of_team = team_warps / p.frequency_groups > 0 ? team_warps / p.frequency_groups : 1;
    p.chunk_tiles = in_chunks && of_team < p.input_tiles ? of_team : p.input_tiles;
    p.u_part = kUnits * 8 * p.frequency_tiles, p.u_step = 2 * p.u_part;
    p.u_column = apart(p.chunk_tiles * steps_of_tile * p.u_step);
    p.y_part = 64 * p.output_tiles, p.y_step = apart(2 * p.y_part);
    p.y_column = (halves ? 4 : 8) * p.frequency_tiles * p.y_step;
    const int u_bytes = key.product == Product::none ? 0 : columns * p.u_column;
    const int y_bytes = to_samples && !in_teams ? columns * p.y_column : 0;
    p.in_place =
        key.product == Product::shared && y_bytes > 0 && columns * p.output_tiles * p.mixed_groups <= tuning.warps;
    p.y_begin = p.in_place ? 0 : u_bytes;
    p.bytes = p.in_place ? (u_bytes > y_bytes ? u_bytes : y_bytes) : u_bytes + y_bytes;
    p.barriers_at = p.bytes, p.bytes += in_teams ? 16 * columns : in_cluster ? 16 : 0;
    p.parts = 1, p.shares = 1, p.share_tiles = p.input_tiles;
    p.parts_at = p.staged_at = p.forward_at = p.inverse_at = p.weights_at = -1;
    return p;
  }
  // Of points of a step on their way to a warp: of channels g and g + 8, of four parts of a row, 16 bytes a lane.
  static constexpr int kStaged = 8 * 512;
  // Of channels that a product contracts, at a frequency, which change places, so that neither lanes whose frequencies
  // are 2 t apart nor those whose are g apart meet in a bank.
  static constexpr int kUnits = 32;
  DANAUS_HOST_AND_DEVICE static constexpr int place_of(int frequency) { return frequency ^ (frequency >> 2 & 1); }
  // Products that contract the points of a part.
  DANAUS_HOST_AND_DEVICE static constexpr int steps_of(int part, int step) { return (part + step - 1) / step; }
  DANAUS_HOST_AND_DEVICE static constexpr int tiles_of_points(int part, int step) {
    return steps_of(part, step) * (step / 8);
  }
  // Vectors of a table, there or back, of 512 bytes.
  DANAUS_HOST_AND_DEVICE static constexpr int table_vectors(int part, int step, int tiles) {
    return steps_of(part, step) * tiles;
  }
};

// Spectra in global memory: [item, channel, frequency] complex, steps in complex numbers; of 16-bit samples one word
// each. Pairs of frequencies are one access where `pairs`.
struct Spectra {
  std::uint32_t* data;
  long long item, channel;
  bool pairs;
};

// Rows of samples, steps in samples. Items are (outer, inner).
struct Rows {
  long long outer, item, channel, point = 1;
};

struct AxisArguments {
  const void* u;
  void* y;
  Spectra from, to;
  const std::uint32_t* forward;  // [steps of points, table_tiles, lane, 4]: cosines of a fragment, then sines
  const std::uint32_t* inverse;  // [point tiles, steps of frequencies, lane, 4]
  const std::uint32_t* weights;  // [frequency or 1, output tile, step of inputs, part, lane, 4]: fragments
  std::uint32_t* arranged;       // where such are made
  const float* w;                // [C_in, C_out, M, 2], of which they are made, or [C_out, C_in, M, 2]
  Rows u_rows, y_rows;
  Divisor inner;  // items of an outer step
  int batch, inputs, outputs, length, frequencies;
  int part;                  // points of a row that are transformed, of its folds
  bool quarters;             // folded twice, as rows of even length are
  int table_tiles;           // of frequencies, in the table
  int matrices;              // of weights: frequencies, or 1
  Divisor frequency_slices;  // that an item is shared out in
  Divisor neighbours;        // units that follow each other and read the same
  int units;                 // slices of items, which blocks take in turn
  Divisor point_groups;      // of a slice: of as many tiles as a warp makes at once
  bool adjoint;              // their conjugate transposes
  bool aligned;   // a lane's points are one access: rows begin at as many bytes, X is a multiple of four lanes' points
  int row_bytes;  // that are brought to L2 at once, or 0
  bool ahead;     // those of an item that follows too
  float scale;    // of results
  Places places;
};

struct Arguments : AxisArguments {
  AxisArguments columns;  // of a filter: from spectra, whose rows are the points, to those that the inverse takes
};

}  // namespace danaus::layer
