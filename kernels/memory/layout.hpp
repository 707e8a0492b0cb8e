// What moving rows needs to know of a kernel's layout. Every family's Layout begins with it.
#pragma once

#include "kernels/device/cache.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus {

// Where constants that a block reads again and again are kept: shared memory gets them from those who use them, or by a
// bulk copy, where there are such.
enum class Keep { registers, shared, bulk, cache };
constexpr bool is_shared(Keep keep) { return keep == Keep::shared || keep == Keep::bulk; }

// Whether a filter's transform, and so the ranges of a channel, may be in several parts: on a device whose blocks have
// the least shared memory.
constexpr bool may_have_range_parts(Fold fold, int size) { return fold == Fold::right_angle && size > 8192; }

// A slab is a part of the rows of one item: of two batch rows (pair), or of one row, real and imaginary (right angle,
// plain). It has lines of 64 samples (128 bytes), plane by plane; its 16-byte chunk number c is chunk c mod 8 of line c
// / 8.
struct RowLayout {
  constexpr RowLayout(Dtype type, Fold fold, bool with_gates, int fft_size, int slabs_of_item, int lines_of_plane,
                      int step_of_lines, int step_of_planes, Cache of_rows)
      : dtype(type),
        pair(fold == Fold::pair),
        gated(with_gates),
        size(fft_size),
        slabs(slabs_of_item),
        plane_lines(lines_of_plane),
        line_step(step_of_lines),
        plane_step(step_of_planes),
        rows(of_rows) {}

  Dtype dtype;                         // of rows; arithmetic is of f16
  bool pair;                           // two rows an item, one complex sequence; or real data
  bool gated;                          // takes gates, either or both
  bool filtered = false;               // short filters convolve u and gates first (memory/short_filters.hpp)
  int size;                            // N
  int slabs;                           // of an item; 64 samples from one to the next
  int plane_lines;                     // of a plane of a row's slab,
  int line_step;                       //   samples from one to the next
  int plane_step;                      // samples from a plane to the next
  Cache rows;                          // what L2 should do with u, y and the gates
  bool scaled = dtype == Dtype::bf16;  // tile/scaled.hpp
  int item_rows = pair ? 2 : 1;
  int row_bytes = 2 * size / slabs;  // of one row in a slab
  int row_chunks = row_bytes / 16;
  int planes = row_chunks / 8 / plane_lines;
  bool stores_in_bulk = planes >= 4;  // what an enclosed row's slabs have of it wherever it begins
};

}  // namespace danaus
