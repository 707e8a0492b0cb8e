// The block of a layer or of a pass, from the first load to the last store.
#pragma once

#include "kernels/families/layer/cluster.hpp"

namespace danaus::layer::inline DANAUS_BACKEND {

template <class P>
class Block : protected BlockCluster<P> {
 public:
  static constexpr Layout layout = P::layout;
  using Base = BlockCluster<P>;
  using Base::Base;

  DANAUS_DEVICE void run() {
    device::let_next_grid_begin();
    if constexpr (layout.in_teams)
      run_in_teams();
    else
      run_together();
  }

 private:
  template <class>
  friend class Filter;
  using Base::a_, Base::at_, Base::copy_matrix, Base::copy_tables, Base::first_channel_, Base::first_frequency_,
      Base::first_input, Base::first_item_, Base::frequency_groups, Base::items, Base::kBack, Base::kProduct,
      Base::mixed_groups, Base::warp_, Base::bring, Base::transform, Base::keep_input, Base::put, Base::read, Base::mix,
      Base::output_row, Base::store_points, Base::transform_back, Base::begin_exchange, Base::exchange,
      Base::first_tile_of_share, Base::wait_for_readers, Base::kOneItem, Base::run_in_teams;
  using typename Base::PointSums;

  DANAUS_DEVICE void run_together() {
    copy_tables();
    device::copy_async_commit();
    // And once more below: what the end of a loop began would take registers all through it.
    begin(device::block_index());
    if constexpr (layout.in_cluster) begin_exchange();
    device::wait_for_previous_grid();
    if (layout.from_samples && a_.row_bytes > 0)
      bring(first_item_, first_input() + 16 * first_tile_of_share(), 16 * at_.share_tiles, warp_);
    copy_matrix();
    device::copy_async_commit();
    device::copy_async_wait<1>();
    if (at_.forward_at >= 0 || at_.inverse_at >= 0) device::sync_block();
    for (int unit = device::block_index(); unit < a_.units; unit += device::block_count()) {
      begin(unit);
      compute(unit);
      if (kProduct || kBack) device::sync_block();
    }
  }

  DANAUS_DEVICE void begin(int unit) {
    // Units side by side read the same weights where each frequency has its own, else the same item.
    constexpr bool items_first = layout.key.product == Product::each;
    const int outer = unit / a_.neighbours, inner = unit % a_.neighbours, slice = items_first ? outer : inner;
    first_item_ = at_.columns * (items_first ? inner : outer);
    first_frequency_ = 8 * at_.frequency_tiles * (slice % a_.frequency_slices);
    first_channel_ = 16 * at_.output_tiles * (slice / a_.frequency_slices);
  }

  // Spectra of all channels, of samples or of another pass, for what follows in the block.
  DANAUS_DEVICE void transform_all() {
    const int channel_tiles = kProduct ? at_.share_tiles : at_.output_tiles;
    const int tasks = items() * channel_tiles * frequency_groups();
    if (layout.in_parts && at_.parts > 1) {
      transform_in_parts(channel_tiles, tasks);
    } else {
      for (int number = warp_; number < tasks; number += layout.tuning.warps) {
        const Task task = task_of(number, channel_tiles);
        Tile<layout.tuning.tiles> tile;
        if constexpr (layout.from_samples)
          transform(tile, task.item, task.channel_tile, task.first_tile);
        else
          read(tile, task.item, task.channel_tile, task.first_tile);
        keep(tile, task);
      }
    }
  }

  DANAUS_DEVICE void compute(int unit) {
    transform_all();
    if constexpr (!kProduct && !kBack) return;
    device::copy_async_wait<0>();
    if constexpr (layout.in_cluster)
      exchange();
    else
      device::sync_block();
    if constexpr (layout.from_samples) {
      if (a_.ahead) bring(unit + device::block_count(), 0, a_.inputs, warp_);
    }

    if constexpr (layout.key.product == Product::each) {
      // Two frequencies at once are stored together; where that leaves warps without work each has one. Of 16 bits for
      // the inverse two are a word.
      const int pairs = at_.output_tiles * 4 * at_.frequency_tiles;
      if (!(kBack && layout.halves) && 2 * pairs <= layout.tuning.warps) {
        if (warp_ < 2 * pairs) this->template mix_places<1>(warp_ % at_.output_tiles, warp_ / at_.output_tiles);
      } else {
        for (int task = warp_; task < pairs; task += layout.tuning.warps)
          this->template mix_places<2>(task % at_.output_tiles, 2 * (task / at_.output_tiles));
      }
    } else if constexpr (kProduct) {
      const int products = at_.output_tiles * mixed_groups();
      for (int task = warp_; task < products || (at_.in_place && task == warp_); task += layout.tuning.warps) {
        const int output_tile = task / mixed_groups(), first_tile = task % mixed_groups() * layout.tuning.mixed;
        Tile<layout.tuning.mixed> tile;
        if (task < products) mix(tile, 0, output_tile, first_tile, 0, [] {});
        if (kBack && at_.in_place) wait_for_readers();
        if (task < products) put(tile, 0, output_tile, first_tile);
      }
    }
    if constexpr (!kBack) return;
    if (layout.in_cluster && !at_.in_place)
      wait_for_readers();
    else
      device::sync_block();

    const int point_tiles = Layout::tiles_of_points(a_.part, layout.step);
    const Divisor& point_groups = a_.point_groups;
    const int inverses = items() * at_.output_tiles * point_groups;
    for (int task = warp_; task < inverses; task += layout.tuning.warps) {
      const int item = kOneItem ? 0 : task / point_groups / at_.output_tiles,
                output_tile = kOneItem ? task / point_groups : task / point_groups % at_.output_tiles,
                first_tile = task % point_groups * layout.point_tiles;
      transform_back(item, output_tile, first_tile, point_tiles, [&](const PointSums& sums) {
        store_points(sums, first_tile, point_tiles, output_row(item, output_tile));
      });
    }
  }

  // Of a warp: a tile of channels of one of the block's items, some tiles of frequencies.
  struct Task {
    int item, channel_tile, first_tile;
  };
  DANAUS_DEVICE Task task_of(int number, int channel_tiles) const {
    const int row = number / frequency_groups(), first_tile = number % frequency_groups() * layout.tuning.tiles;
    return {kOneItem ? 0 : row / channel_tiles, first_tile_of_share() + (kOneItem ? row : row % channel_tiles),
            first_tile};
  }
  template <int tiles>
  DANAUS_DEVICE void keep(const Tile<tiles>& tile, const Task& task) const {
    if constexpr (kProduct)
      keep_input(tile, task.item, task.channel_tile, task.first_tile);
    else
      put(tile, task.item, task.channel_tile, task.first_tile);
  }
  // Several warps have a task, a part of the points each, and some tiles of frequencies of which they add up all parts.
  DANAUS_DEVICE void transform_in_parts(int channel_tiles, int tasks) {
    constexpr int tiles = layout.tuning.tiles, grain = layout.tile_grain;
    const int number = warp_ % tasks, part = warp_ / tasks;
    const Task task = task_of(number, channel_tiles);
    const auto place_of = [&](int of_part, int i) {
      return at_.parts_at + 1024 * ((of_part * tasks + number) * tiles + i) + 16 * device::lane_index();
    };
    if (part < at_.parts) {
      Tile<tiles> tile;
      transform(tile, task.item, task.channel_tile, task.first_tile, part, at_.parts);
      DANAUS_UNROLL
      for (int i = 0; i < tiles; ++i) {
        device::store_shared<16>(place_of(part, i), words_of(tile.re[i]));
        device::store_shared<16>(place_of(part, i) + 512, words_of(tile.im[i]));
      }
    }
    device::sync_block();
    if (part < at_.parts) {
      for (int first = grain * part; first < tiles; first += grain * at_.parts) {
        Tile<grain> sum;
        for (int other = 0; other < at_.parts; ++other) {
          DANAUS_UNROLL
          for (int i = 0; i < grain; ++i) {
            add_words(sum.re[i], device::load_shared<16>(place_of(other, first + i)));
            add_words(sum.im[i], device::load_shared<16>(place_of(other, first + i) + 512));
          }
        }
        keep(sum, {task.item, task.channel_tile, task.first_tile + first});
      }
    }
    if constexpr (!kProduct && !kBack) device::sync_block();
  }
  static DANAUS_DEVICE Words<4> words_of(const float (&numbers)[4]) {
    return {word_of(numbers[0]), word_of(numbers[1]), word_of(numbers[2]), word_of(numbers[3])};
  }
  static DANAUS_DEVICE void add_words(float (&numbers)[4], const Words<4>& words) {
    DANAUS_UNROLL
    for (int i = 0; i < 4; ++i) numbers[i] += float_of(words[i]);
    device::count_fp32(4);
  }
};

}  // namespace danaus::layer::inline DANAUS_BACKEND
