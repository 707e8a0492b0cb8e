// The block of a filter along one axis: two inverses, one after the other, of which the first one's results stay in
// shared memory.
#pragma once

#include "kernels/families/layer/block.hpp"

namespace danaus::layer::inline DANAUS_BACKEND {

// Of planes of spectra [X, M_y], which the transform of rows and the product of channels made: columns are transformed
// along X and back, and rows of what is kept, in shared memory, back along Y. A block has a plane, or a slice of the
// rows that it makes, for which it transforms all columns.
template <class P>
class Filter {
 public:
  static constexpr Layout layout = P::layout;

  DANAUS_DEVICE explicit Filter(const Arguments& a) : a_(a), columns_(a.columns), rows_(a) {}

  DANAUS_DEVICE void run() {
    device::let_next_grid_begin();
    // What comes first is waited for first.
    columns_.copy_forward_table();
    device::copy_async_commit();
    columns_.copy_inverse_table(), rows_.copy_inverse_table();
    device::copy_async_commit();
    device::wait_for_previous_grid();
    device::copy_async_wait<1>();
    device::sync_block();
    for (int unit = device::block_index(); unit < a_.units; unit += device::block_count()) {
      begin(unit);
      compute();
    }
  }

 private:
  struct RowsOf {
    static constexpr Layout layout{rows_of(P::layout.key), P::layout.tuning};
  };
  using Columns = Block<P>;
  using Rows = Block<RowsOf>;

  static DANAUS_DEVICE int tiles_of(int part) { return Layout::tiles_of_points(part, layout.step); }

  DANAUS_DEVICE void begin(int unit) {
    columns_.first_item_ = rows_.first_item_ = unit / a_.neighbours;
    first_ = unit % a_.neighbours * (a_.places.output_tiles / 2);
  }

  // Of some tiles of points of columns, each of which are those of four rows: two tiles of channels.
  DANAUS_DEVICE void compute() {
    columns_.transform_all();
    device::copy_async_wait<0>();
    device::sync_block();

    const int end = min(first_ + a_.places.output_tiles / 2, tiles_of(a_.columns.part));
    const Divisor &column_groups = a_.columns.point_groups, &row_groups = a_.point_groups;
    for (int task = columns_.warp_; task < a_.columns.places.output_tiles * column_groups;
         task += layout.tuning.warps) {
      const int channel_tile = task / column_groups,
                first_tile = first_ + task % column_groups * Columns::layout.point_tiles;
      if (first_tile >= end) continue;
      columns_.transform_back(0, channel_tile, first_tile, end, [&](const typename Columns::PointSums& sums) {
        keep_rows(sums, channel_tile, first_tile, end);
      });
    }
    device::sync_block();

    const int tiles = tiles_of(a_.part);
    unsigned char* const y = rows_.outputs_of(rows_.first_item_);
    for (int task = columns_.warp_; task < 2 * (end - first_) * row_groups; task += layout.tuning.warps) {
      const int row_tile = task / row_groups, first_tile = task % row_groups * Rows::layout.point_tiles;
      rows_.transform_back(0, row_tile, first_tile, tiles, [&](const typename Rows::PointSums& sums) {
        rows_.store_points(sums, first_tile, tiles, [&](int r) -> unsigned char* {
          const int n = 8 * first_ + point_at(row_tile / 2, Rows::g());
          if (n >= a_.columns.part) return nullptr;
          return y + Rows::Lane::kBytes * a_.y_rows.channel * row_at(n, row_tile % 2 == 1, r);
        });
      });
    }
  }
  // Of a block's tile of points, the one that is row `row` of tiles of channels: those of lanes that store together are
  // side by side.
  static DANAUS_DEVICE int point_at(int tile, int row) {
    return layout.step * (tile / layout.step_tiles) + layout.lane_points * (row % 4) + 2 * (tile % layout.step_tiles) +
           row / 4;
  }
  // Of a point and its image in the column, or their images in its halves.
  DANAUS_DEVICE int row_at(int n, bool image, int r) const {
    const int length = a_.columns.length;
    if (image) return r == 0 ? length / 2 - 1 - n : length / 2 + n;
    return r == 0 ? n : length - 1 - n;
  }

  // As what the inverse of rows contracts: of its tiles of 16 channels one has points and their images in the column,
  // the next one their images in its halves.
  DANAUS_DEVICE void keep_rows(const typename Columns::PointSums& sums, int channel_tile, int first_tile,
                               int end) const {
    DANAUS_UNROLL
    for (int i = 0; i < Columns::layout.point_tiles; i += layout.step_tiles) {
      if (first_tile + i >= end) continue;
      DANAUS_UNROLL
      for (int p = 0; p < layout.lane_points; ++p) DANAUS_UNROLL
      for (int image = 0; image < 2; ++image) DANAUS_UNROLL
      for (int part = 0; part < 2; ++part)
        keep_point(sums, channel_tile, i, p, 2 * (first_tile - first_ + i + p / 2) + image, Columns::t() + 4 * (p % 2),
                   image, part);
    }
  }
  DANAUS_DEVICE void keep_point(const typename Columns::PointSums& sums, int channel_tile, int i, int p, int row_tile,
                                int row, bool image, int part) const {
    const auto number = [&](int r, int sign) { return columns_.number_of(sums, i, r, image, sign, p, part); };
    if constexpr (layout.halves) {
      const int place = place_at(16 * channel_tile + Columns::channel_of(0), layout.step);
      DANAUS_UNROLL
      for (int end = 0; end < 2; ++end)
        device::store_shared<4>(
            rows_.y_address(0, place / 2, part) + 4 * (16 * row_tile + row + 8 * end),
            {device::pack2<layout.key.dtype>(number(0, end == 0 ? -1 : 1), number(1, end == 0 ? -1 : 1))});
    } else {
      DANAUS_UNROLL
      for (int r = 0; r < 2; ++r) {
        const int place = place_at(16 * channel_tile + Columns::channel_of(r), layout.step);
        Rows::store_unit(rows_.y_address(0, place, part) + 8 * (8 * row_tile + row), number(r, -1), number(r, 1));
      }
    }
  }

  const Arguments& a_;
  Columns columns_;
  Rows rows_;
  int first_ = 0;  // of the block's tiles of points of columns
};

}  // namespace danaus::layer::inline DANAUS_BACKEND
