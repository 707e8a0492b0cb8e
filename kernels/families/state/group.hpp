// state, by groups of four warps: the same convolution for 64 rows at once, on an H100 or H200.
//
// index      of a chunk as in kernel.hpp. Rows of a block are of one part of one channel, 16 of the batch to a warp; so
//            they begin and end alike, and one bulk copy brings a chunk of all that a warp has
// types      as in kernel.hpp
// memory     matrices stay in shared memory, where products of a group read them themselves; chunks of u come through a
//            ring of each warp, y takes their place and leaves it by bulk copies. Samples and states as operands, and
//            the states as they are summed up, are in registers
// order      while y is summed up the state decays; while the state takes the chunk in, y goes its way
// error      as in kernel.hpp
// nonfinite  nonfinite.hpp; the second time threads load and store
// reference  reference/state/recurrence.hpp   test   tests/kernels/state_test.cpp
#pragma once

#include "kernels/device/warpgroup.hpp"
#include "kernels/families/state/nonfinite.hpp"

namespace danaus::state::inline DANAUS_BACKEND {

template <class P, Path path>
class Group {
 public:
  static constexpr Layout layout = P::layout;
  static constexpr Dtype T = layout.key.dtype;
  static constexpr bool kConvolves = layout.key.work == Work::convolve;
  static constexpr int kChunk = layout.tuning.chunk, kSlots = layout.slots, kTiles = layout.tiles;

  DANAUS_DEVICE explicit Group(const Arguments& a)
      : a_(a), warp_(device::warp_index()), lane_(device::lane_index()), g_(lane_ / 4), t_(lane_ % 4) {
    const int tiles = (a.batch + layout.block_rows - 1) / layout.block_rows,
              units = tiles * (kConvolves ? a.parts : a.ends);
    const int unit = device::block_index() % units;
    channel_ = device::block_index() / units, part_ = unit / tiles;
    row_ = layout.block_rows * (unit % tiles) + layout.warp_rows * warp_;
    const long long begin = part_ * a.part_length;
    const int count = static_cast<int>(min(a.part_length, a.length - begin));
    // Parts whose ends are wanted end with a chunk; else they begin with one.
    first_ = kConvolves ? 0 : static_cast<int>(a.part_length) - count, end_ = first_ + count;
    origin_ = static_cast<int>(begin - first_);
  }

  DANAUS_DEVICE void run() {
    device::let_next_grid_begin();
    device::wait_for_previous_grid();
    for (int i = device::thread_index(); i < layout.shared_words / 4; i += layout.threads)
      device::copy_async(16 * i, prepared() + 4 * i, 16);
    device::copy_async_commit();
    if (lane_ == 0)
      for (int slot = 0; slot < kSlots; ++slot) device::barrier_init(barrier(slot), 1);
    device::fence_async();
    device::sync_warp();
    const int before = first_ / kChunk, chunks = (end_ + kChunk - 1) / kChunk - before;
    if (lane_ == 0)
      for (int i = 0; i < kSlots && i < chunks; ++i) load(i, (before + i) * kChunk);
    device::copy_async_wait<0>();
    device::fence_async();
    device::sync_block();
    y_scale_ = float_of(device::load_shared<4>(4 * layout.y_scale)[0]);
    compute<false>(before, chunks);
    end();
    // Inlined: beside a call the compiler would let each product wait for the one before.
    if constexpr (kConvolves) {
      if (!has_nonfinite()) return;
      cut_rows();
      compute<true>(before, chunks);
    }
  }

 private:
  // y of the part and the state after it. `again`: of rows that are cut.
  template <bool again>
  DANAUS_DEVICE void compute(int before, int chunks) {
    load_decays<false>();
    begin();
    // After the last samples of a row, fewer than a chunk, the state is as after the end of one with nothing before
    // them.
    const bool has_tail = !again && kConvolves && a_.x_final && end_ % kChunk != 0;
    DANAUS_UNROLL_BY(1)
    for (int i = 0; i < chunks + has_tail; ++i) {
      const bool is_tail = i == chunks;
      const int n = is_tail ? end_ - kChunk : (before + i) * kChunk, after = n + kChunk;
      if (is_tail) begin_tail(i, n);
      wait_for<again>(i, n, is_tail ? kChunk - end_ % kChunk : first_ - n);
      if (!kConvolves || after < end_ || (a_.x_final && after == end_))
        multiply<true>(i);
      else
        multiply<false>(i);
      if (kConvolves && !is_tail) store<again>(i, n);
      // The place of the chunk before, whose y has left it; of ends that of this one.
      const int next = kConvolves ? i - 1 + kSlots : i + kSlots;
      device::sync_warp();
      if (!again && lane_ == 0 && next >= kSlots && next < chunks) {
        if constexpr (kConvolves) device::store_wait_read<1>();
        load(next, (before + next) * kChunk);
      }
    }
    device::store_wait_read<0>();
  }

  // Whether the block has met samples that are not finite: its warps multiply together.
  DANAUS_DEVICE bool has_nonfinite() const {
    const bool of_warp = is_nan_of_warp(probe_of(x_[0]));
    device::count_fp32(4);
    if (lane_ == 0) device::store_shared<4>(layout.cuts_begin + 4 * warp_, {of_warp});
    device::sync_block();
    const Words<4> all = device::load_shared<16>(layout.cuts_begin);
    return (all[0] | all[1] | all[2] | all[3]) != 0;
  }
  // Where rows end: before their first sample that is not finite.
  DANAUS_DEVICE SharedAddress cut(int row) const {
    return layout.cuts_begin + 16 + 4 * (layout.warp_rows * warp_ + row);
  }
  DANAUS_DEVICE void cut_rows() const {
    DANAUS_UNROLL_BY(1)
    for (int row = 0; row < layout.warp_rows; ++row) {
      const int end = row_ + row < a_.batch ? first_nonfinite<T>(a_.u, offset(row, 0) / 2, 0, end_) : end_;
      if (lane_ == 0) device::store_shared<4>(cut(row), {static_cast<u32>(end)});
    }
    device::store_wait<0>();  // y, which threads write once more
    device::sync_warp();
  }
  template <bool again>
  DANAUS_DEVICE int end_of(int row) const {
    return again ? static_cast<int>(device::load_shared<4>(cut(row))[0]) : end_;
  }

  DANAUS_DEVICE bool in_bulk() const { return path == Path::tensor || (path == Path::any && a_.in_bulk); }
  DANAUS_DEVICE const u32* prepared() const { return a_.prepared + 1ll * a_.channel_words * channel_; }
  DANAUS_DEVICE SharedAddress barrier(int i) const { return layout.barriers_begin + 8 * (kSlots * warp_ + i % kSlots); }
  DANAUS_DEVICE SharedAddress slot(int i) const {
    return layout.ring_begin + layout.slot_bytes * (kSlots * warp_ + i % kSlots);
  }
  // Eight samples of a row, where bulk copies have them.
  static DANAUS_DEVICE SharedAddress place(SharedAddress slot, int row, int piece) {
    return slot + 128 * row + 16 * (piece ^ (row & 7));
  }

  DANAUS_DEVICE void begin_tail(int i, int n) {
    load_decays<true>();
    device::store_wait_read<0>();
    device::sync_warp();
    if (lane_ == 0) load(i, n);
  }
  // The i-th chunk to come, of samples n to n + T - 1 of the part.
  DANAUS_DEVICE void load(int i, int n) const {
    if (in_bulk()) {
      device::barrier_expect(barrier(i), layout.slot_bytes);
      device::tensor_load(slot(i), a_.u_map, {origin_ + n, channel_, row_, 0, 0}, barrier(i), Cache::stream);
    }
  }
  // Until it is there; with zeros in the place of so many samples.
  template <bool again>
  DANAUS_DEVICE void wait_for(int i, int n, int absent) const {
    if (!again && in_bulk()) {
      device::barrier_wait(barrier(i), i / kSlots & 1);
      if (absent <= 0) return;
      for (int piece = lane_ % 8; piece < absent / 8; piece += 8)
        for (int row = lane_ / 8; row < layout.warp_rows; row += 4)
          device::store_shared<16>(place(slot(i), row, piece), Words<4>{});
      device::fence_async();  // before what comes to the same place
    } else {
      DANAUS_UNROLL_BY(1)
      for (int row = lane_ / 8; row < layout.warp_rows; row += 4) {
        Words<4> words{};
        const int end = end_of<again>(row);
        DANAUS_UNROLL_BY(1)
        for (int e = 0; e < 8; ++e) {
          const int at = 8 * (lane_ % 8) + e;
          if (row_ + row < a_.batch && at >= absent && n + at < end)
            words[e / 2] |= device::load_global<2>(static_cast<const unsigned char*>(a_.u) + offset(row, n + at))[0]
                            << (16 * (e % 2));
        }
        device::store_shared<16>(place(slot(i), row, lane_ % 8), words);
      }
    }
    device::sync_warp();
  }
  // y, from the place of the samples.
  template <bool again>
  DANAUS_DEVICE void store(int i, int n) const {
    if (!again && in_bulk()) {
      device::fence_async();
      device::sync_warp();
      if (lane_ != 0) return;
      device::tensor_store(a_.y_map, {origin_ + n, channel_, row_, 0, 0}, slot(i), Cache::stream);
      device::store_commit();
    } else {
      device::sync_warp();
      DANAUS_UNROLL_BY(1)
      for (int row = lane_ / 8; row < layout.warp_rows; row += 4) {
        const Words<4> words = device::load_shared<16>(place(slot(i), row, lane_ % 8));
        const int end = end_of<again>(row);
        DANAUS_UNROLL
        for (int e = 0; e < 8; ++e) {
          const int at = n + 8 * (lane_ % 8) + e;
          if (row_ + row < a_.batch && at < end)
            device::store_global<2>(static_cast<unsigned char*>(a_.y) + offset(row, at),
                                    {words[e / 2] >> (16 * (e % 2)) & 0xffffu});
        }
      }
    }
  }
  // Of sample n of the part in u and y, in bytes.
  DANAUS_DEVICE long long offset(int row, int n) const {
    return 2 * ((1ll * (row_ + row) * a_.channels + channel_) * a_.length + origin_ + n);
  }

  // y of a chunk, in its place, and the state after it.
  template <bool advances>
  DANAUS_DEVICE void multiply(int i) {
    constexpr int kSteps = kChunk / 16, kPairs = kTiles / 2;
    // Points 16 `step` and on of so many columns, from a vector on.
    const auto line = [](int begin, int columns, int step) {
      return 512 * begin + step / 4 * 128 * columns + step % 4 * 32;
    };
    u32 u[kSteps][4];
    DANAUS_UNROLL
    for (int q = 0; q < kSteps; ++q) {
      const Words<4> words = device::load_matrices<4, false>(place(slot(i), lane_ % 16, 2 * q + lane_ / 16));
      DANAUS_UNROLL
      for (int r = 0; r < 4; ++r) u[q][r] = words[r];
    }
    Sums y[kChunk / 8];
    u32 x[kPairs][4];
    if constexpr (kConvolves) {
      DANAUS_UNROLL
      for (int pair = 0; pair < kPairs; ++pair) DANAUS_UNROLL
      for (int r = 0; r < 4; ++r) {
        const Sums& of = x_[2 * pair + r / 2];
        x[pair][r] = device::pack2<T>(of[2 * (r % 2)], of[2 * (r % 2) + 1]);
      }
      device::group_fence(y, u, x);
      device::group_multiply<T, false>(y, u[0], line(layout.toeplitz_begin, kChunk, 0));
      DANAUS_UNROLL
      for (int q = 1; q < kSteps; ++q) device::group_multiply<T, true>(y, u[q], line(layout.toeplitz_begin, kChunk, q));
      DANAUS_UNROLL
      for (int pair = 0; pair < kPairs; ++pair)
        device::group_multiply<T, true>(y, x[pair], line(layout.out_begin, kChunk, pair));
      device::group_commit();
      if constexpr (advances) device::group_wait<1>(x_);  // else fp32 work comes between the products
    }
    if constexpr (advances) {
      DANAUS_UNROLL
      for (int j = 0; j < kTiles; ++j) decay(x_[j], decays_[j]);
      device::group_fence(x_, u);
      DANAUS_UNROLL
      for (int q = 0; q < kSteps; ++q) device::group_multiply<T, true>(x_, u[q], line(0, 2 * layout.key.states, q));
      device::group_commit();
    }
    if constexpr (kConvolves) {
      device::group_wait<advances>(y);
      device::sync_warp();  // samples that y is to stand in the place of
      // To the state after the last chunk, which nothing else asks for: the first sample of a chunk meets all of it.
      if constexpr (!advances)
        if (!a_.x_final) {
          x_[0][0] = device::fma(0.0f, y[0][0], x_[0][0]);
          x_[0][2] = device::fma(0.0f, y[0][2], x_[0][2]);
          device::count_fp32(2);
        }
      DANAUS_UNROLL
      for (int q = 0; q < kChunk / 32; ++q) DANAUS_UNROLL
      for (int upper = 0; upper < 2; ++upper) {
        Words<4> words;
        DANAUS_UNROLL
        for (int j = 0; j < 4; ++j)
          words[j] = device::pack2<T>(y_scale_ * y[4 * q + j][2 * upper], y_scale_ * y[4 * q + j][2 * upper + 1]);
        device::store_shared<16>(place(slot(i), g_ + 8 * upper, 4 * q + t_), words);
      }
      device::count_fp32(kChunk / 2);
    }
    if constexpr (advances) device::group_wait<0>(x_);
  }

  template <bool tail>
  DANAUS_DEVICE void load_decays() {
    DANAUS_UNROLL
    for (int j = 0; j < kTiles; ++j) decays_[j] = decay_of<P, tail>(prepared(), 4 * j + t_);
  }

  // Calls visit(re, im, place among the states of a field [B, P, H, S], state) of what the lane has of the state.
  template <class Visit>
  DANAUS_DEVICE void for_each_state(Visit visit) {
    DANAUS_UNROLL
    for (int upper = 0; upper < 2; ++upper) {
      const int row = row_ + g_ + 8 * upper;
      if (row >= a_.batch) continue;
      const long long place = 2 * (((1ll * row * a_.parts + part_) * a_.channels + channel_) * a_.states + t_);
      DANAUS_UNROLL
      for (int j = 0; j < kTiles; ++j)
        if (4 * j + t_ < a_.states) visit(x_[j][2 * upper], x_[j][2 * upper + 1], place + 8 * j, 4 * j + t_);
    }
  }
  DANAUS_DEVICE void begin() {
    DANAUS_UNROLL
    for (int j = 0; j < kTiles; ++j) x_[j][0] = x_[j][1] = x_[j][2] = x_[j][3] = 0;
    if (!kConvolves || !a_.x_initial) return;
    load_states<P>(a_.x_initial, [&](auto visit) { for_each_state(visit); });
  }
  DANAUS_DEVICE void end() {
    float* const to = kConvolves ? a_.x_final : a_.x_parts;
    if (to) store_states<P>(to, [&](auto visit) { for_each_state(visit); });
  }

  const Arguments& a_;
  int warp_, lane_, g_, t_;
  int channel_, part_, row_;  // the warp's first of the batch
  int first_, end_, origin_;  // samples first <= n < end are there, n = 0 at sample `origin` of a row
  Sums x_[kTiles];
  Complex32 decays_[kTiles];
  float y_scale_;
};

}  // namespace danaus::state::inline DANAUS_BACKEND
