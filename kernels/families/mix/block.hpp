// The block of a layer or of a pass, from the first load to the last store.
#pragma once

#include <type_traits>

#include "kernels/device/relaxed_arrival.hpp"
#include "kernels/families/mix/folded.hpp"

namespace danaus::mix::inline DANAUS_BACKEND {

template <class P>
class Filter;

// What a block does of a layer, or of a pass: samples or spectra come, are transformed, mixed, transformed back.
template <class P>
class Block {
 public:
  static constexpr Layout layout = P::layout;
  static constexpr bool kComplex = layout.key.complex;
  static constexpr bool kOneItem = layout.key.product != Product::each;  // of the batch, in a block

  DANAUS_DEVICE explicit Block(const AxisArguments& a) : a_(a), at_(a.places), warp_(device::warp_index()) {}

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

  // What is divided by. Teams have no registers for a Divisor's numbers: 201 for 193 us, 41.5 for 39.7, by 72 bytes of
  // local memory.
  using Divided = std::conditional_t<layout.in_teams, int, Divisor>;
  DANAUS_DEVICE Divided frequency_groups() const { return at_.frequency_groups; }
  DANAUS_DEVICE Divided mixed_groups() const { return at_.mixed_groups; }

  static constexpr bool kProduct = layout.key.product != Product::none, kBack = layout.to_samples;

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

  // Blocks of a cluster have one unit each, slices of one item's outputs: each transforms a share of the inputs, whose
  // spectra lie together, and sends them to the others.
  DANAUS_DEVICE int first_tile_of_share() const {
    return layout.in_cluster ? device::cluster_rank() * at_.share_tiles : 0;
  }
  DANAUS_DEVICE int share_bytes() const { return at_.share_tiles * layout.steps_of_tile * at_.u_step; }
  DANAUS_DEVICE void begin_exchange() const {
    if (device::thread_index() == 0) {
      device::barrier_init(at_.barriers_at, 1);
      device::fence_barrier_init();
      device::barrier_expect(at_.barriers_at, (at_.shares - 1) * share_bytes());
    }
    device::arrive_cluster_relaxed();
  }
  DANAUS_DEVICE void exchange() const {
    device::fence_async();
    device::sync_block();
    device::wait_cluster();
    const int rank = device::cluster_rank(), to = device::lane_index();
    if (warp_ == 0 && to < at_.shares && to != rank) {
      const SharedAddress share = rank * share_bytes();
      device::copy_remote(device::remote_address(share, to), share, share_bytes(),
                          device::remote_address(at_.barriers_at, to));
    }
    device::barrier_wait(at_.barriers_at, 0);
    // Says that what was sent here has been read there, nothing of what this block wrote: needs no release, which took
    // a tenth of the time.
    device::arrive_cluster_relaxed();
  }
  // Until spectra may be overwritten: warps, and what sends them to other blocks, have read them.
  DANAUS_DEVICE static void wait_for_readers() {
    if constexpr (layout.in_cluster) device::wait_cluster();
    device::sync_block();
  }
  DANAUS_DEVICE void copy_tables() const { copy_forward_table(), copy_inverse_table(); }
  DANAUS_DEVICE void copy_forward_table() const {
    if (layout.from_samples && at_.forward_at >= 0) copy(at_.forward_at, a_.forward, table_vectors());
  }
  DANAUS_DEVICE void copy_inverse_table() const {
    if (layout.to_samples && at_.inverse_at >= 0) copy(at_.inverse_at, a_.inverse, table_vectors());
  }
  DANAUS_DEVICE int table_vectors() const { return Layout::table_vectors(a_.part, layout.step, a_.table_tiles); }
  // Of the block's outputs.
  DANAUS_DEVICE void copy_matrix() const {
    if (layout.key.product != Product::shared || at_.weights_at < 0) return;
    const int first = first_channel() / 16, tiles = min(at_.output_tiles, (a_.outputs + 15) / 16 - first);
    const int vectors = 2 * at_.input_tiles * layout.steps_of_tile;
    copy(at_.weights_at, a_.weights + 128ll * first * vectors, tiles * vectors);
  }
  // Vectors of 512 bytes.
  DANAUS_DEVICE static void copy(SharedAddress to, const u32* from, int vectors) {
    for (int i = device::thread_index(); i < 32 * vectors; i += layout.threads)
      device::copy_async(to + 16 * i, from + 4 * i, 16);
  }

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
          mix_and_finish(team, wait);
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
  DANAUS_DEVICE void mix_and_finish(const Team& team, Wait wait) const {
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

  DANAUS_DEVICE void begin(int unit) {
    // Units side by side read the same weights where each frequency has its own, else the same item.
    constexpr bool items_first = layout.key.product == Product::each;
    const int outer = unit / a_.neighbours, inner = unit % a_.neighbours, slice = items_first ? outer : inner;
    first_item_ = at_.columns * (items_first ? inner : outer);
    first_frequency_ = 8 * at_.frequency_tiles * (slice % a_.frequency_slices);
    first_channel_ = 16 * at_.output_tiles * (slice / a_.frequency_slices);
  }

  // Rows of an item that follows, to L2, while warps do what needs no rows: of so many channels from one on.
  // Of all warps, whose lanes ask one after the other: 7.2 for 7.6 us by half of them.
  DANAUS_DEVICE void bring(int item, int first, int channels, int warp) const {
    if (item >= a_.batch) return;
    const unsigned char* const u = inputs_of(item);
    const int end = min(first + channels, a_.inputs);
    for (int channel = first + warp + layout.team_warps * device::lane_index(); channel < end;
         channel += 32 * layout.team_warps)
      device::bulk_prefetch(u + Lane::kBytes * a_.u_rows.channel * channel, a_.row_bytes);
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
        if (warp_ < 2 * pairs) mix_places<1>(warp_ % at_.output_tiles, warp_ / at_.output_tiles);
      } else {
        for (int task = warp_; task < pairs; task += layout.tuning.warps)
          mix_places<2>(task % at_.output_tiles, 2 * (task / at_.output_tiles));
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

  using A = Operand<P, 4>;
  using B = Operand<P, 2>;
  using Lane = Points<P>;
  using Folded = mix::Folded<P>;
  // Spectra of 16 channels, g and g + 8, at the frequencies 2 t and 2 t + 1 of some tiles of 8.
  template <int tiles>
  struct Tile {
    float re[tiles][4] = {}, im[tiles][4] = {};
  };

  // A lane's row of a fragment and its place there; read anew, which costs less than a register.
  static DANAUS_DEVICE int g() { return device::lane_index() / 4; }
  static DANAUS_DEVICE int t() { return device::lane_index() % 4; }
  DANAUS_DEVICE int items() const { return kOneItem ? 1 : min(at_.columns, a_.batch - first_item_); }
  DANAUS_DEVICE int first_frequency() const { return layout.slices_frequencies ? first_frequency_ : 0; }
  DANAUS_DEVICE int first_channel() const { return layout.slices_channels ? first_channel_ : 0; }

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

  // An item's first row.
  DANAUS_DEVICE long long row_of(const Rows& rows, int item) const {
    const Divided inner = a_.inner;
    return rows.outer * (item / inner) + rows.item * (item % inner);
  }
  DANAUS_DEVICE const unsigned char* inputs_of(int item) const {
    return static_cast<const unsigned char*>(a_.u) + Lane::kBytes * row_of(a_.u_rows, item);
  }
  DANAUS_DEVICE unsigned char* outputs_of(int item) const {
    return static_cast<unsigned char*>(a_.y) + Lane::kBytes * row_of(a_.y_rows, item);
  }
  // Of a tile.
  static DANAUS_DEVICE int channel_of(int r) {
    if (!layout.in_columns) return g() + 8 * r;
    return layout.halves ? 4 * (g() / 2) + g() % 2 + 2 * r : 2 * g() + r;
  }

  // `whole`: nothing of a tile is missing, of channels, points or frequencies, and rows are aligned.
  template <bool whole>
  DANAUS_DEVICE Folded load(const void* const (&row)[2], int n) const {
    if constexpr (layout.in_columns && whole) return load_columns(row, n);
    Folded f;
    DANAUS_UNROLL
    for (int r = 0; r < 2; ++r) {
      if (!whole && !row[r]) continue;
      if (whole || (a_.aligned && !layout.in_columns)) {
        if (!whole && n >= a_.part) continue;
        const int half = a_.length / 2;
        Lane far, near_image;
        f.near[r].load(row[r], n);
        far.load(row[r], a_.length - layout.lane_points - n);
        near_image.load(row[r], half - layout.lane_points - n);
        f.far_image[r].load(row[r], half + n);
        f.far[r] = far.reversed(), f.near_image[r] = near_image.reversed();
      } else {
        DANAUS_UNROLL
        for (int i = 0; i < layout.lane_points; ++i)
          if (n + i < a_.part) {
            f.near[r].load_one(row[r], in_row(n + i), i);
            f.far[r].load_one(row[r], in_row(a_.length - 1 - n - i), i);
            if (!a_.quarters) continue;
            f.near_image[r].load_one(row[r], in_row(a_.length / 2 - 1 - n - i), i);
            f.far_image[r].load_one(row[r], in_row(a_.length / 2 + n + i), i);
          }
      }
    }
    return f;
  }
  // Where a point of an input is.
  DANAUS_DEVICE long long in_row(int n) const { return layout.in_columns ? a_.u_rows.point * n : n; }
  DANAUS_DEVICE Folded load_columns(const void* const (&row)[2], int n) const {
    Folded f;
    const int half = a_.length / 2;
    Lane far[2], near_image[2];
    load_pairs(f.near, row, n);
    load_pairs(far, row, a_.length - layout.lane_points - n);
    load_pairs(near_image, row, half - layout.lane_points - n);
    load_pairs(f.far_image, row, half + n);
    DANAUS_UNROLL
    for (int r = 0; r < 2; ++r) f.far[r] = far[r].reversed(), f.near_image[r] = near_image[r].reversed();
    return f;
  }
  // Points of a lane's two channels.
  DANAUS_DEVICE void load_pairs(Lane (&of)[2], const void* const (&row)[2], int n) const {
    DANAUS_UNROLL
    for (int i = 0; i < layout.lane_points; ++i) {
      if constexpr (layout.halves) {
        of[0].load_one(row[0], in_row(n + i), i), of[1].load_one(row[1], in_row(n + i), i);
      } else {
        const auto pair =
            device::load_global<16>(static_cast<const unsigned char*>(row[0]) + Lane::kBytes * in_row(n + i));
        DANAUS_UNROLL
        for (int w = 0; w < 4; ++w) of[w / 2].word[2 * i + w % 2] = pair[w];
      }
    }
  }

  // The lane's part of vectors of a table, from one of them on: of the table, or of its copy in shared memory.
  template <bool shared>
  struct Table {
    const u32* from;
    SharedAddress at;
    DANAUS_DEVICE Table(const u32* table, int place, int vector)
        : from(table + 4 * (32ll * vector + device::lane_index())),
          at(place + 16 * (32 * vector + device::lane_index())) {}
    DANAUS_DEVICE void operator+=(int vectors) { from += 128ll * vectors, at += 512 * vectors; }
    DANAUS_DEVICE void load(int vector, u32 (&first)[2], u32 (&second)[2]) const {
      Words<4> w;
      if constexpr (shared)
        w = device::load_shared<16>(at + 512 * vector);
      else
        w = device::load_constant<16>(from + 128 * vector);
      first[0] = w[0], first[1] = w[1], second[0] = w[2], second[1] = w[3];
    }
  };

  // Of the channels of a product.
  DANAUS_DEVICE SharedAddress u_address(int item, int frequency, int part, int step) const {
    return item * at_.u_column + step * at_.u_step + part * at_.u_part + Layout::kUnits * Layout::place_of(frequency);
  }
  // Of a frequency, in 16 bits of a pair.
  DANAUS_DEVICE SharedAddress y_address(int item, int frequency, int part) const {
    return at_.y_begin + item * at_.y_column + frequency * at_.y_step + part * at_.y_part;
  }

  // Of channels g and g + 8 of a tile.
  DANAUS_DEVICE void rows_of(const void* (&row)[2], int item, int channel_tile) const {
    const unsigned char* const u = inputs_of(item);
    DANAUS_UNROLL
    for (int r = 0; r < 2; ++r) {
      const int channel = first_input() + 16 * channel_tile + channel_of(r);
      row[r] = channel < a_.inputs ? u + Lane::kBytes * a_.u_rows.channel * channel : nullptr;
    }
  }
  template <int tiles>
  DANAUS_DEVICE bool is_whole_task(int channel_tile, int first_tile) const {
    return a_.aligned && a_.part % layout.step == 0 && first_input() + 16 * channel_tile + 16 <= a_.inputs &&
           is_whole<tiles>(first_tile);
  }

  // Points of a step on their way to the warp's place for them, past registers and L1. A lane copies what it reads.
  DANAUS_DEVICE SharedAddress staged_at(int slot) const {
    return at_.staged_at + (warp_ * layout.staged + slot) * Layout::kStaged + 16 * device::lane_index();
  }
  DANAUS_DEVICE void stage(const void* const (&row)[2], int step, int slot) const {
    const int n = layout.step * step + layout.lane_points * t(), half = a_.length / 2;
    const int at[4] = {n, a_.length - layout.lane_points - n, half - layout.lane_points - n, half + n};
    DANAUS_UNROLL
    for (int r = 0; r < 2; ++r) DANAUS_UNROLL
    for (int i = 0; i < 4; ++i)
      device::copy_async(staged_at(slot) + 512 * (4 * r + i),
                         static_cast<const unsigned char*>(row[r]) + Lane::kBytes * at[i], 16);
  }
  DANAUS_DEVICE Folded staged_points(int slot) const {
    Folded f;
    DANAUS_UNROLL
    for (int r = 0; r < 2; ++r) {
      Lane of[4];
      DANAUS_UNROLL
      for (int i = 0; i < 4; ++i)
        of[i].word = device::load_shared<4 * layout.words>(staged_at(slot) + 512 * (4 * r + i));
      f.near[r] = of[0], f.far[r] = of[1].reversed(), f.near_image[r] = of[2].reversed(), f.far_image[r] = of[3];
    }
    return f;
  }
  // The first steps of a task, as far as there is such an item; a group of copies for each, or an empty one.
  DANAUS_DEVICE void stage_first(int item, int task) const {
    const int channel_tile = task / frequency_groups(), first_tile = task % frequency_groups() * layout.tuning.tiles;
    const void* row[2] = {};
    const bool exists =
        at_.staged_at >= 0 && item < a_.batch && is_whole_task<layout.tuning.tiles>(channel_tile, first_tile);
    if (exists) rows_of(row, item, channel_tile);
    DANAUS_UNROLL
    for (int step = 0; step < layout.staged; ++step) {
      if (exists && layout.step * step < a_.part) stage(row, step, step);
      device::copy_async_commit();
    }
  }

  // U, of a tile that is zero: of one of so many parts of the points.
  template <int tiles>
  DANAUS_DEVICE void transform(Tile<tiles>& tile, int item, int channel_tile, int first_tile, int part = 0,
                               int parts = 1) const {
    const void* row[2];
    const int all = Layout::steps_of(a_.part, layout.step);
    const Steps steps{all * part / parts, all * (part + 1) / parts};
    rows_of(row, first_item_ + item, channel_tile);
    const bool whole = is_whole_task<tiles>(channel_tile, first_tile);
    if constexpr (layout.staged > 0) {
      if (whole && at_.staged_at >= 0 && at_.forward_at >= 0) {
        transform_rows<true, true, true>(tile, row, first_tile, steps);
        return;
      }
      if (whole && at_.staged_at >= 0) {
        transform_rows<true, false, true>(tile, row, first_tile, steps);
        return;
      }
    }
    if (whole && at_.forward_at >= 0)
      transform_rows<true, true, false>(tile, row, first_tile, steps);
    else if (whole)
      transform_rows<true, false, false>(tile, row, first_tile, steps);
    else
      transform_rows<false, false, false>(tile, row, first_tile, steps);
  }
  struct Steps {
    int first, end;
  };
  template <bool whole, bool shared, bool staged, int tiles>
  DANAUS_DEVICE void transform_rows(Tile<tiles>& tile, const void* const (&row)[2], int first_tile,
                                    const Steps& steps) const {
    Table<shared> table(a_.forward, at_.forward_at, first_frequency() / 8 + first_tile + steps.first * a_.table_tiles);
    // Points of the next step come while this one is multiplied; where tiles are not whole, or sums of another product
    // are kept, registers have no room for them.
    constexpr bool kAhead = whole && layout.staged == 0 && !layout.in_chunks;
    int slot = 0;
    Folded points;
    if (kAhead) points = load<whole>(row, layout.step * steps.first + layout.lane_points * t());
    DANAUS_UNROLL_BY(1)
    for (int step = steps.first; step < steps.end; ++step, table += a_.table_tiles) {
      if constexpr (staged) {
        device::copy_async_wait<(layout.staged > 0 ? layout.staged - 1 : 0)>();
        points = staged_points(slot);
      } else if (!kAhead) {
        points = load<whole>(row, layout.step * step + layout.lane_points * t());
      }
      DANAUS_UNROLL
      for (int parity = 0; parity < 2; ++parity) {
        const A sum_re = points.fragment(parity, true, 0);
        A difference_re = points.fragment(parity, false, 0);
        difference_re.negate();
        // When all of this step are folded: a copy before that would keep what reads its place waiting.
        const auto load_next = [&] {
          if (parity == 0) return;
          if (kAhead && step + 1 < steps.end)
            points = load<whole>(row, layout.step * (step + 1) + layout.lane_points * t());
          if constexpr (staged) {
            if (step + layout.staged < steps.end) stage(row, step + layout.staged, slot);
            device::copy_async_commit();
            slot = slot + 1 == layout.staged ? 0 : slot + 1;
          }
        };
        if constexpr (kComplex) {
          const A sum_im = points.fragment(parity, true, 1), difference_im = points.fragment(parity, false, 1);
          load_next();
          for_each_tile<tiles, whole>(first_tile, [&](int i) {
            if (parity_of(i, layout.step) != parity) return;
            u32 cosine[2], sine[2];
            table.load(i, cosine, sine);
            const B c(cosine), s(sine);
            multiply_both<P>(tile.re[i], tile.im[i], sum_re, sum_im, c, difference_im, difference_re, s);
          });
        } else {
          load_next();
          for_each_tile<tiles, whole>(first_tile, [&](int i) {
            if (parity_of(i, layout.step) != parity) return;
            u32 cosine[2], sine[2];
            table.load(i, cosine, sine);
            multiply<P>(tile.re[i], sum_re, B(cosine));
            multiply<P>(tile.im[i], difference_re, B(sine));
          });
        }
      }
    }
  }
  // The first channel of the block: of inputs all are there where there is a product.
  DANAUS_DEVICE int first_input() const { return layout.key.product == Product::none ? first_channel() : 0; }

  // Spectra of another pass.
  template <int tiles>
  DANAUS_DEVICE void read(Tile<tiles>& tile, int item, int channel_tile, int first_tile) const {
    DANAUS_UNROLL
    for (int r = 0; r < 2; ++r) {
      const int channel = first_input() + 16 * channel_tile + g() + 8 * r;
      if (channel >= a_.inputs) continue;
      for_each_pair<tiles>(first_tile, [&](int i, int first, int j, int second, int pair) {
        const int frequency = first_frequency() + pair;
        float numbers[4] = {};
        read_pair(numbers, place_in(a_.from, item, channel, frequency), a_.frequencies - frequency, a_.from.pairs);
        tile.re[i][2 * r + first] = numbers[0], tile.im[i][2 * r + first] = numbers[1];
        tile.re[j][2 * r + second] = numbers[2], tile.im[j][2 * r + second] = numbers[3];
      });
    }
  }
  // Frequencies side by side in global memory: columns of tiles i and j that a lane has, the first one's number.
  template <int tiles, class Visit>
  DANAUS_DEVICE void for_each_pair(int first_tile, Visit visit) const {
    for_each_tile<tiles>(first_tile, [&](int i) {
      const int place = 8 * (first_tile + i) + 2 * t();
      if constexpr (!layout.by_parity) {
        visit(i, 0, i, 1, place);
      } else if (parity_of(i, layout.step) == 0) {
        DANAUS_UNROLL
        for (int e = 0; e < 2; ++e) visit(i, e, i + layout.apart, e, frequency_at(place + e, layout.step));
      }
    });
  }
  static constexpr int kComplexWords = layout.halves ? 1 : 2;
  DANAUS_DEVICE u32* place_in(const Spectra& s, int item, int channel, int frequency) const {
    return s.data + kComplexWords * (s.item * (first_item_ + item) + s.channel * channel + frequency);
  }
  // Of a pair of frequencies re, im, re, im, or of the first, as many as there are.
  static DANAUS_DEVICE void read_pair(float (&numbers)[4], const u32* from, int count, bool pairs) {
    unpacked(numbers, load_pair<kComplexWords>(from, count, pairs).word);
  }
  template <int count, int words>
  static DANAUS_DEVICE void unpacked(float (&numbers)[count], const u32 (&word)[words]) {
    DANAUS_UNROLL
    for (int i = 0; i < words; ++i) {
      if constexpr (layout.halves) {
        numbers[2 * i] = device::lower_float<layout.key.dtype>(word[i]);
        numbers[2 * i + 1] = device::upper_float<layout.key.dtype>(word[i]);
      } else {
        numbers[i] = float_of(word[i]);
      }
    }
  }
  // re, im, re, im of two frequencies.
  static DANAUS_DEVICE void write_pair(u32* to, const float (&numbers)[4], int count, bool pairs) {
    Words<2 * kComplexWords> w;
    DANAUS_UNROLL
    for (int i = 0; i < 2 * kComplexWords; ++i)
      if constexpr (layout.halves)
        w[i] = device::pack2<layout.key.dtype>(numbers[2 * i], numbers[2 * i + 1]);
      else
        w[i] = stored<P>(numbers[i]);
    if (count >= 2 && pairs) {
      device::store_global<8 * kComplexWords>(to, w);
      return;
    }
    DANAUS_UNROLL
    for (int e = 0; e < 2; ++e) {
      if (e >= count) continue;
      Words<kComplexWords> one;
      DANAUS_UNROLL
      for (int i = 0; i < kComplexWords; ++i) one[i] = w[kComplexWords * e + i];
      device::store_global<4 * kComplexWords>(to + kComplexWords * e, one);
    }
  }

  // For a product.
  template <int tiles>
  DANAUS_DEVICE void keep_input(const Tile<tiles>& tile, int item, int channel_tile, int first_tile) const {
    // Of a tile's 8 units a product contracts 4 or 8.
    const int step = layout.halves ? channel_tile : 2 * channel_tile + g() / 4;
    const int unit = layout.halves ? 4 * g() : 8 * (g() % 4);
    const SharedAddress of_lane[2] = {u_address(item, 2 * t(), 0, step) + unit,
                                      u_address(item, 2 * t() + 1, 0, step) + unit};
    keep_units(tile, first_tile, of_lane, 8 * Layout::kUnits, at_.u_part);
  }
  // `of_lane`: where its frequencies of the first of all tiles are.
  template <int tiles>
  DANAUS_DEVICE void keep_units(const Tile<tiles>& tile, int first_tile, const SharedAddress (&of_lane)[2],
                                int tile_step, int part_step) const {
    for_each_tile<tiles>(first_tile, [&](int i) {
      DANAUS_UNROLL
      for (int e = 0; e < 2; ++e) {
        const SharedAddress at = of_lane[e] + (first_tile + i) * tile_step;
        store_unit(at, tile.re[i][e], tile.re[i][2 + e]);
        store_unit(at + part_step, tile.im[i][e], tile.im[i][2 + e]);
      }
    });
  }
  // For the inverse, or for another pass.
  template <int tiles>
  DANAUS_DEVICE void put(const Tile<tiles>& tile, int item, int channel_tile, int first_tile) const {
    if constexpr (layout.to_samples && !layout.halves) {
      const SharedAddress of_channel = y_address(item, 2 * t(), 0) + 8 * (8 * channel_tile + g());
      keep_units(tile, first_tile, {of_channel, of_channel + at_.y_step}, 8 * at_.y_step, at_.y_part);
    } else if constexpr (layout.to_samples)
      for_each_tile<tiles>(first_tile, [&](int i) {
        DANAUS_UNROLL
        for (int r = 0; r < 2; ++r)
          put_pair(item, 8 * (first_tile + i) + 2 * t(), 16 * channel_tile + g() + 8 * r,
                   {tile.re[i][2 * r], tile.im[i][2 * r], tile.re[i][2 * r + 1], tile.im[i][2 * r + 1]});
      });
    else
      for_each_pair<tiles>(first_tile, [&](int i, int first, int j, int second, int pair) {
        DANAUS_UNROLL
        for (int r = 0; r < 2; ++r)
          put_pair(item, pair, 16 * channel_tile + g() + 8 * r,
                   {tile.re[i][2 * r + first], tile.im[i][2 * r + first], tile.re[j][2 * r + second],
                    tile.im[j][2 * r + second]});
      });
  }
  struct Pair {
    float number[4];
  };
  // Of places side by side, or where they go to global memory frequencies.
  DANAUS_DEVICE void put_pair(int item, int first, int channel, const Pair& of, int count = 2) const {
    if constexpr (layout.to_samples && layout.halves) {
      DANAUS_UNROLL
      for (int part = 0; part < 2; ++part)
        device::store_shared<4>(y_address(item, first / 2, part) + 4 * channel,
                                {device::pack2<layout.key.dtype>(of.number[part], of.number[2 + part])});
    } else if constexpr (layout.to_samples) {
      const int place = 16 * (channel / 16) + 2 * (channel % 8) + channel / 8 % 2;
      DANAUS_UNROLL
      for (int i = 0; i < 4; ++i)
        if (i < 2 * count)
          device::store_shared<4>(y_address(item, first + i / 2, i % 2) + 4 * place, {operand<P>(of.number[i])});
    } else {
      const int frequency = first_frequency() + first;
      if (first_channel() + channel < a_.outputs)
        write_pair(place_in(a_.to, item, first_channel() + channel, frequency), of.number,
                   min(count, a_.frequencies - frequency), a_.to.pairs);
    }
  }
  static DANAUS_DEVICE void store_unit(SharedAddress to, float first, float second) {
    if constexpr (layout.halves)
      device::store_shared<4>(to, {device::pack2<layout.key.dtype>(first, second)});
    else
      device::store_shared<8>(to, {operand<P>(first), operand<P>(second)});
  }

  template <int tiles, bool whole = false, class Visit>
  DANAUS_DEVICE void for_each_tile(int first, Visit visit) const {
    DANAUS_UNROLL
    for (int i = 0; i < tiles; ++i)
      if (whole || first + i < at_.frequency_tiles) visit(i);
  }
  template <int tiles>
  DANAUS_DEVICE bool is_whole(int first_tile) const {
    return first_tile + tiles <= at_.frequency_tiles;
  }

  template <bool shared = false>
  DANAUS_DEVICE Words<4> weights(int matrix, int output_tile, int step, int part) const {
    const int steps = at_.input_tiles * layout.steps_of_tile;
    if constexpr (shared)
      return device::load_shared<16>(at_.weights_at + 512 * (2 * (output_tile * steps + step) + part) +
                                     16 * device::lane_index());
    const int tiles = (a_.outputs + 15) / 16;
    const long long vector = ((1ll * matrix * tiles + first_channel() / 16 + output_tile) * steps + step) * 2 + part;
    return device::load_global<16>(a_.weights + (vector * 32 + device::lane_index()) * 4);
  }
  // A lane's part of what is at u_address().
  DANAUS_DEVICE static B spectrum(SharedAddress from) {
    const Words<2> w = device::load_shared<8>(from + 8 * t());
    return B(w.word);
  }

  // V, of a tile that is zero; frequencies share the weights. U is waited for when the first of these are on their way.
  template <int tiles, class Wait>
  DANAUS_DEVICE void mix(Tile<tiles>& tile, int item, int output_tile, int first_tile, int chunk, Wait wait) const {
    if (first_channel() + 16 * output_tile >= a_.outputs) {
      wait();
      return;
    }
    // Operands in two parts leave no registers for one more of these, but in teams.
    constexpr bool kShared = !layout.split || layout.in_teams;
    if (kShared && is_whole<tiles>(first_tile) && at_.weights_at >= 0)
      mix_tiles<true, kShared>(tile, item, output_tile, first_tile, chunk, wait);
    else if (is_whole<tiles>(first_tile))
      mix_tiles<true, false>(tile, item, output_tile, first_tile, chunk, wait);
    else
      mix_tiles<false, false>(tile, item, output_tile, first_tile, chunk, wait);
  }
  template <bool whole, bool shared, int tiles, class Wait>
  DANAUS_DEVICE void mix_tiles(Tile<tiles>& tile, int item, int output_tile, int first_tile, int chunk,
                               Wait wait) const {
    const int steps = min(at_.chunk_tiles, at_.input_tiles - chunk) * layout.steps_of_tile;
    const auto weights_at = [&](int step, int part) {
      return weights<shared>(0, output_tile, chunk * layout.steps_of_tile + step, part);
    };
    // Weights of the next steps come while one is multiplied, or where that takes no time those of four at once.
    constexpr int kAhead = tiles == 1 ? 0 : shared ? 1 : layout.weights_ahead;
    Words<4> re[2], im[2];
    const auto load = [&](int step, int slot) { re[slot] = weights_at(step, 0), im[slot] = weights_at(step, 1); };
    if (kAhead < 2) wait();
    DANAUS_UNROLL
    for (int i = 0; i < kAhead; ++i) load(i, i);
    if (kAhead == 2) wait();
    SharedAddress from = u_address(item, 8 * first_tile + g(), 0, 0);
    const auto multiply_step = [&](int step, int slot) {
      if constexpr (kAhead == 0) load(step, slot);
      const A w_re(re[slot].word), w_im(im[slot].word);
      if (kAhead > 0 && step + kAhead < steps) load(step + kAhead, slot);
      A minus_im = w_im;
      minus_im.negate();
      for_each_tile<tiles, whole>(first_tile, [&](int i) {
        const SharedAddress at = from + 8 * Layout::kUnits * i;
        const B u_re = spectrum(at), u_im = spectrum(at + at_.u_part);
        multiply_both<P>(tile.re[i], tile.im[i], w_re, w_im, u_re, minus_im, w_re, u_im);
      });
      from += at_.u_step;
    };
    if constexpr (kAhead == 2) {
      DANAUS_UNROLL_BY(1)
      for (int step = 0; step < steps; step += 2) {
        multiply_step(step, 0);
        multiply_step(step + 1, 1);
      }
    } else {
      DANAUS_UNROLL_BY(kAhead > 0 ? 1 : 4)
      for (int step = 0; step < steps; ++step) multiply_step(step, 0);
    }
  }
  // V of 16 channels at one or two frequencies with weights of their own: items of the batch are the columns.
  template <int count>
  DANAUS_DEVICE void mix_places(int output_tile, int first) const {
    if (first_channel() + 16 * output_tile >= a_.outputs) return;
    float re[count][4] = {}, im[count][4] = {};
    const int item = min(g(), items() - 1);
    DANAUS_UNROLL
    for (int e = 0; e < count; ++e) {
      const int place = first + e,
                frequency = first_frequency() + (layout.by_parity ? frequency_at(place, layout.step) : place);
      if (frequency >= a_.frequencies) continue;
      DANAUS_UNROLL_BY(layout.split ? 2 : 4)
      for (int step = 0; step < at_.input_tiles * layout.steps_of_tile; ++step) {
        const A w_re(weights(frequency, output_tile, step, 0).word),
            w_im(weights(frequency, output_tile, step, 1).word);
        A minus_im = w_im;
        minus_im.negate();
        const B u_re = spectrum(u_address(item, place, 0, step)), u_im = spectrum(u_address(item, place, 1, step));
        multiply_both<P>(re[e], im[e], w_re, w_im, u_re, minus_im, w_re, u_im);
      }
    }
    DANAUS_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int column = 2 * t() + i % 2, channel = 16 * output_tile + g() + 8 * (i / 2);
      if (column >= items()) continue;
      if constexpr (count == 2)
        put_pair(column, first, channel, {re[0][i], im[0][i], re[1][i], im[1][i]});
      else
        put_pair(column, first, channel, {re[0][i], im[0][i]}, 1);
    }
  }

  // An A fragment of V: 16 channels, the frequencies of a step.
  DANAUS_DEVICE A mixed(int item, int output_tile, int step, int part) const {
    const int channel = 16 * output_tile + g();
    u32 words[4];
    if constexpr (layout.halves) {
      DANAUS_UNROLL
      for (int i = 0; i < 4; ++i)
        words[i] = device::load_shared<4>(y_address(item, 8 * step + t() + 4 * (i / 2), part) +
                                          4 * (channel + 8 * (i % 2)))[0];
    } else {
      DANAUS_UNROLL
      for (int h = 0; h < 2; ++h) {
        const Words<2> w =
            device::load_shared<8>(y_address(item, 8 * step + t() + 4 * h, part) + 8 * (8 * output_tile + g()));
        words[2 * h] = w[0], words[2 * h + 1] = w[1];
      }
    }
    return A(words);
  }

  // Sums of cosines and of sines by which a tile of points is made.
  struct Sums {
    float cosine[2][2][4], sine[2][2][4];  // of even frequencies and of odd ones; of real parts, of imaginary parts
  };

  using PointSums = Sums[layout.point_tiles];

  template <bool whole, bool shared>
  DANAUS_DEVICE void transform_points(PointSums& sums, int item, int output_tile, int first_tile, int tiles) const {
    const int steps = 8 * at_.frequency_tiles / layout.step;
    Table<shared> table(a_.inverse, at_.inverse_at, first_tile * steps);
    DANAUS_UNROLL_BY(1)
    for (int step = 0; step < steps; step += 2, table += 2) {
      DANAUS_UNROLL
      for (int parity = 0; parity < 2; ++parity) {
        const A re = mixed(item, output_tile, step + parity, 0), im = mixed(item, output_tile, step + parity, 1);
        DANAUS_UNROLL
        for (int i = 0; i < layout.point_tiles; ++i) {
          if (!whole && first_tile + i >= tiles) continue;
          add_products(sums[i], parity, re, im, table, i * steps + parity);
        }
      }
    }
  }
  // The inverse of what a lane has of a product: columns of its sums are those that a step contracts (tables.cpp).
  template <int tiles>
  DANAUS_DEVICE void finish(const Tile<tiles>& tile, int item, int output_tile) const {
    constexpr int kSteps = 8 * tiles / layout.step;
    u32 re[kSteps][4], im[kSteps][4];
    DANAUS_UNROLL
    for (int step = 0; step < kSteps; ++step)
      fragment_of(re[step], tile.re, step), fragment_of(im[step], tile.im, step);
    const int steps = 8 * at_.frequency_tiles / layout.step;
    const int point_tiles = Layout::tiles_of_points(a_.part, layout.step);
    const auto row = output_row(item, output_tile);
    DANAUS_UNROLL_BY(1)
    for (int first = 0; first < point_tiles; first += layout.point_tiles) {
      PointSums sums = {};
      if (kSteps == steps && at_.inverse_at >= 0)
        sum_up<true, true>(sums, re, im, first, point_tiles, steps);
      else
        sum_up<false, false>(sums, re, im, first, point_tiles, steps);
      store_points(sums, first, point_tiles, row);
    }
  }
  template <int tiles>
  static DANAUS_DEVICE void fragment_of(u32 (&words)[4], const float (&sums)[tiles][4], int step) {
    DANAUS_UNROLL
    for (int i = 0; i < 4; ++i)
      if constexpr (layout.halves) {
        const float(&of)[4] = sums[2 * step + i / 2];
        words[i] = device::pack2<layout.key.dtype>(of[2 * (i % 2)], of[2 * (i % 2) + 1]);
      } else {
        words[i] = operand<P>(sums[step][i / 2 + 2 * (i % 2)]);
      }
  }
  template <bool whole, bool shared, int count>
  DANAUS_DEVICE void sum_up(PointSums& sums, const u32 (&re)[count][4], const u32 (&im)[count][4], int first_tile,
                            int tiles, int steps) const {
    const Table<shared> table(a_.inverse, at_.inverse_at, first_tile * steps);
    DANAUS_UNROLL
    for (int step = 0; step < count; ++step) {
      if (!whole && step >= steps) continue;
      const A v_re(re[step]), v_im(im[step]);
      DANAUS_UNROLL
      for (int i = 0; i < layout.point_tiles; ++i)
        if (i == 0 || first_tile + i < tiles) add_products(sums[i], step % 2, v_re, v_im, table, i * steps + step);
    }
  }
  template <bool shared>
  static DANAUS_DEVICE void add_products(Sums& sums, int parity, const A& re, const A& im, const Table<shared>& table,
                                         int vector) {
    u32 cosine[2], sine[2];
    table.load(vector, cosine, sine);
    const B c(cosine), s(sine);
    multiply<P>(sums.cosine[parity][0], re, c);
    multiply<P>(sums.sine[parity][1], im, s);
    if constexpr (kComplex) {
      multiply<P>(sums.cosine[parity][1], im, c);
      multiply<P>(sums.sine[parity][0], re, s);
    }
  }

  template <class Store>
  DANAUS_DEVICE void transform_back(int item, int output_tile, int first_tile, int tiles, Store store) const {
    PointSums sums = {};
    const bool whole = first_tile + layout.point_tiles <= tiles;
    if (whole && at_.inverse_at >= 0)
      transform_points<true, true>(sums, item, output_tile, first_tile, tiles);
    else if (whole)
      transform_points<true, false>(sums, item, output_tile, first_tile, tiles);
    else
      transform_points<false, false>(sums, item, output_tile, first_tile, tiles);
    store(sums);
  }
  // Where the outputs of a lane's two channels are, or nowhere.
  DANAUS_DEVICE auto output_row(int item, int output_tile) const {
    unsigned char* const y = outputs_of(first_item_ + item);
    return [this, y, output_tile](int r) -> unsigned char* {
      const int channel = first_channel() + 16 * output_tile + channel_of(r);
      return channel < a_.outputs ? y + Lane::kBytes * a_.y_rows.channel * channel : nullptr;
    };
  }
  template <class Row>
  DANAUS_DEVICE void store_points(const PointSums& sums, int first_tile, int tiles, Row row_of) const {
    DANAUS_UNROLL
    for (int i = 0; i < layout.point_tiles; i += layout.step_tiles) {
      const int n = 8 * (first_tile + i) + layout.lane_points * t();
      DANAUS_UNROLL
      for (int r = 0; r < 2; ++r) {
        unsigned char* const row = row_of(r);
        if (first_tile + i >= tiles || !row) continue;
        store(row, n, false, points_of(sums, i, r, false, -1), points_of(sums, i, r, false, 1));
        if (a_.quarters) store(row, n, true, points_of(sums, i, r, true, -1), points_of(sums, i, r, true, 1));
      }
    }
  }

  // A + B (sign -1) or A - B of a lane's point p, or of its image in halves; B = i times sums of sines.
  DANAUS_DEVICE float number_of(const PointSums& sums, int first, int r, bool image, int sign, int p, int part) const {
    const int i = 2 * r + p % 2;
    const auto& [cosine, sine] = sums[first + p / 2];
    const float cosines = image ? cosine[0][part][i] - cosine[1][part][i] : cosine[0][part][i] + cosine[1][part][i];
    const float sines =
        image ? sine[1][1 - part][i] - sine[0][1 - part][i] : sine[0][1 - part][i] + sine[1][1 - part][i];
    device::count_fp32(3);
    return a_.scale * (cosines + (part == 0 ? sign : -sign) * sines);
  }
  DANAUS_DEVICE Lane points_of(const PointSums& sums, int first, int r, bool image, int sign) const {
    const auto real = [&](int p) { return number_of(sums, first, r, image, sign, p, 0); };
    const auto imaginary = [&](int p) { return number_of(sums, first, r, image, sign, p, 1); };
    Lane lane;
    DANAUS_UNROLL
    for (int i = 0; i < layout.words; ++i) {
      if constexpr (layout.halves)
        lane.word[i] = kComplex ? device::pack2<layout.key.dtype>(real(i), imaginary(i))
                                : device::pack2<layout.key.dtype>(real(2 * i), real(2 * i + 1));
      else
        lane.word[i] = word_of(!kComplex ? real(i) : i % 2 == 0 ? real(i / 2) : imaginary(i / 2));
    }
    return lane;
  }
  // Points from n on and their mirror images in the row, or the images of both in its halves.
  DANAUS_DEVICE void store(void* row, int n, bool image, const Lane& near, const Lane& far) const {
    const int half = a_.length / 2;
    // What most rows take stands together: blocks that have one item wait for their code, too.
    if (a_.aligned) [[likely]] {
      if (n >= a_.part) return;
      (image ? far : near).store(row, image ? half + n : n);
      (image ? near : far).reversed().store(row, (image ? half : a_.length) - layout.lane_points - n);
      return;
    }
    DANAUS_UNROLL
    for (int i = 0; i < layout.lane_points; ++i) {
      if (n + i >= a_.part) continue;
      (image ? far : near).store_one(row, image ? half + n + i : n + i, i);
      (image ? near : far).store_one(row, (image ? half : a_.length) - 1 - n - i, i);
    }
  }

  const AxisArguments& a_;
  const Places& at_;
  const int warp_;
  int first_item_ = 0, first_frequency_ = 0, first_channel_ = 0;
};

}  // namespace danaus::mix::inline DANAUS_BACKEND
