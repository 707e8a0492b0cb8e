// A block whose teams of warps have items of their own.
#pragma once

#include "kernels/families/layer/inverse.hpp"

namespace danaus::layer::inline DANAUS_BACKEND {

template <class P>
class BlockTeams : protected BlockInverse<P> {
 public:
  using Base = BlockInverse<P>;
  using Base::Base;

 protected:
  static constexpr Layout layout = P::layout;
  using Base::a_, Base::at_, Base::copy_matrix, Base::copy_tables, Base::first_item_, Base::frequency_groups,
      Base::mixed_groups, Base::warp_, Base::bring, Base::stage_first, Base::transform, Base::keep_input, Base::put,
      Base::read, Base::mix, Base::finish;

  // Each team has items of its own, one after the other: its warps transform channels, and when all of a chunk are
  // there, mix them. What a warp mixes stays in its registers, to be summed over chunks or transformed back. Warps of a
  // team wait for each other alone.
  struct Team {
    int item, member;  // of the block's items; of the team's warps
    // Barriers: spectra are there, or have been read. Each thread arrives, as racecheck follows no lane that does for
    // others.
    SharedAddress full, empty;
  };
  DANAUS_DEVICE void run_in_teams() {
    const int index = warp_ / layout.team_warps;
    const SharedAddress full = at_.barriers_at + 16 * index;
    const Team team{index, warp_ % layout.team_warps, full, full + 8};
    copy_tables();
    if (device::thread_index() == 0)
      for (int i = 0; i < 2 * at_.columns; ++i) device::barrier_init(at_.barriers_at + 8 * i, 32 * layout.team_warps);
    device::wait_for_previous_grid();
    copy_matrix();
    device::copy_async_commit();
    if constexpr (layout.staged > 0) {
      const bool has_task =
          device::block_index() < a_.units && index < at_.columns && team.member < at_.chunk_tiles * frequency_groups();
      stage_first(has_task ? at_.columns * device::block_index() + index : a_.batch, team.member);
    }
    device::copy_async_wait<layout.staged>();
    device::sync_block();
    if (index >= at_.columns) return;
    u32 turn = 0;
    bool is_first = true;
    for (int unit = device::block_index(); unit < a_.units; unit += device::block_count()) {
      first_item_ = at_.columns * unit;
      if (first_item_ + index >= a_.batch) return;
      const int next = at_.columns * (unit + device::block_count()) + index;
      Tile<layout.tuning.mixed> sums;
      const int output_tile = team.member / mixed_groups(),
                first_tile = team.member % mixed_groups() * layout.tuning.mixed;
      for (int chunk = 0; chunk < at_.input_tiles; chunk += at_.chunk_tiles, turn ^= 1, is_first = false) {
        fill(team, chunk, is_first, next, turn);
        device::barrier_arrive(team.full);
        if constexpr (layout.from_samples) {
          const bool is_last = chunk + at_.chunk_tiles >= at_.input_tiles;
          if (a_.ahead)
            bring(is_last ? next : first_item_ + index, is_last ? 0 : 16 * (chunk + at_.chunk_tiles),
                  16 * at_.chunk_tiles, team.member);
        }
        const auto wait = [&] { device::barrier_wait(team.full, turn); };
        if constexpr (layout.in_chunks) {
          if (output_tile < at_.output_tiles)
            mix(sums, index, output_tile, first_tile, chunk, wait);
          else
            wait();
          device::barrier_arrive(team.empty);
        } else {
          layer_and_finish(team, wait);
        }
      }
      if constexpr (layout.in_chunks) {
        if (output_tile < at_.output_tiles) put(sums, index, output_tile, first_tile);
      }
    }
  }
  // Spectra of a chunk of channels, when those that were there have been read.
  DANAUS_DEVICE void fill(const Team& team, int chunk, bool is_first, int next, u32 turn) const {
    const int tasks = min(at_.chunk_tiles, at_.input_tiles - chunk) * frequency_groups();
    for (int task = team.member; task < tasks; task += layout.team_warps) {
      Tile<layout.tuning.tiles> tile;
      const int channel_tile = task / frequency_groups(), first_tile = task % frequency_groups() * layout.tuning.tiles;
      if constexpr (layout.from_samples)
        transform(tile, team.item, chunk + channel_tile, first_tile);
      else
        read(tile, team.item, chunk + channel_tile, first_tile);
      if constexpr (layout.staged > 0) {
        const int after = chunk + at_.chunk_tiles;
        if (task + layout.team_warps < tasks)
          stage_first(first_item_ + team.item, chunk * frequency_groups() + task + layout.team_warps);
        else if (team.member < (at_.input_tiles - after) * frequency_groups())
          stage_first(first_item_ + team.item, after * frequency_groups() + team.member);
        else
          stage_first(next, team.member);
      }
      if (task == team.member && !is_first) device::barrier_wait(team.empty, turn ^ 1);
      keep_input(tile, team.item, channel_tile, first_tile);
    }
  }
  template <class Wait>
  DANAUS_DEVICE void layer_and_finish(const Team& team, Wait wait) const {
    if (team.member >= at_.output_tiles) {
      wait();
      device::barrier_arrive(team.empty);
    }
    for (int task = team.member; task < at_.output_tiles; task += layout.team_warps) {
      Tile<layout.tuning.mixed> tile;
      mix(tile, team.item, task, 0, 0, [&] {
        if (task == team.member) wait();
      });
      if (task + layout.team_warps >= at_.output_tiles) device::barrier_arrive(team.empty);
      finish(tile, team.item, task);
    }
  }
};

}  // namespace danaus::layer::inline DANAUS_BACKEND
