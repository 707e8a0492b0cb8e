// From samples to spectra: points are loaded, folded and multiplied by the table.
#pragma once

#include "kernels/families/layer/folded.hpp"
#include "kernels/families/layer/place.hpp"

namespace danaus::layer::inline DANAUS_BACKEND {

template <class P>
class BlockTransform : protected BlockPlace<P> {
 public:
  using Base = BlockPlace<P>;
  using Base::Base;

 protected:
  static constexpr Layout layout = P::layout;
  using Base::a_, Base::at_, Base::channel_of, Base::first_frequency, Base::first_input, Base::first_item_,
      Base::frequency_groups, Base::inputs_of, Base::is_whole, Base::t, Base::warp_, Base::kComplex;
  using A = Operand<P, 4>;
  using B = Operand<P, 2>;
  using Lane = Points<P>;
  using Folded = layer::Folded<P>;

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
           is_whole(tiles, first_tile);
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
          this->template for_each_tile<tiles, whole>(first_tile, [&](int i) {
            if (parity_of(i, layout.step) != parity) return;
            u32 cosine[2], sine[2];
            table.load(i, cosine, sine);
            const B c(cosine), s(sine);
            multiply_both<P>(tile.re[i], tile.im[i], sum_re, sum_im, c, difference_im, difference_re, s);
          });
        } else {
          load_next();
          this->template for_each_tile<tiles, whole>(first_tile, [&](int i) {
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
};

}  // namespace danaus::layer::inline DANAUS_BACKEND
