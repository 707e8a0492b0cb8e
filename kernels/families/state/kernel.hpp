// state: y = conv(u, k), k[n] = Re sum_s C_s A_s^n B_s, chunk by chunk of T samples with the state between.
//
// source     chunks with a state: H3 (Dao et al. 2023), whose FlashConv passes it between chunks; here all of it, the
//            chunk's own convolution too, is products of small matrices
// index      of a chunk, i, j < T, x the state before it:
//              y[i] = sum_{j <= i} k[i - j] u[j] + Re sum_s C_s A_s^(i+1) x_s
//              x'_s = A_s^T x_s + sum_j A_s^(T-1-j) B_s u[j]
//            16 rows of the batch are the rows of a product, samples and states (re and im) its columns. So the state
//            as it is summed up is an operand of the next chunk, a row's y is a lane's in pieces of 16 bytes;
//            the matrices of a channel stay in shared memory for all rows and chunks. States go eight by eight through
//            some chunks at once, which share what is read of the matrices
// shapes     u, y [B, H, L]; a row may be cut into P parts, which are rows like others: first the state that each
//            leaves by itself (ends), then the one that each begins with (carry), then y
// types      u, y and operands f16 or bf16; sums and states f32; powers of A in double, products of them f32
// scaling    operands by powers of two: states by what white noise makes of them, so that f16 holds those of samples
//            from 2^-13 to 2^6 and more; matrices of y so that their largest numbers are below 2^10
// memory     a block has a channel and up to 64 rows; two stages of samples by cp.async, of some chunks each; y from
//            registers, or in the stage's place until a row has as much of it as came at once
// error      counted by kRoundings: matrices in and out, the state as an operand, y; beside them, of L / T chunks, the
//            rounding of A^T (reference/state/recurrence.hpp)
// nonfinite  samples show from themselves on: nonfinite.hpp
// reference  reference/state/recurrence.hpp   test   tests/kernels/state_test.cpp
#pragma once

#include "kernels/families/state/group.hpp"
#include "kernels/families/state/nonfinite.hpp"
#include "kernels/families/state/prepare.hpp"
#include "kernels/families/state/steps.hpp"

namespace danaus::state::inline DANAUS_BACKEND {

template <Key key, Tuning tuning>
struct Shape {
  static constexpr Layout layout{key, tuning};
  static_assert(!layout.broken_rule(), "tunings.hpp has a line that Layout::broken_rule() refuses");
};

template <class P>
class Block {
 public:
  static constexpr Layout layout = P::layout;
  static constexpr Dtype T = layout.key.dtype;
  static constexpr int kChunk = layout.tuning.chunk, kStage = layout.tuning.stage;
  static constexpr int kRowTiles = layout.tuning.row_tiles, kChunks = layout.tuning.at_once;
  static constexpr bool kGathers = layout.tuning.gathers && layout.key.work == Work::convolve;
  static constexpr int kAtOnce = layout.parts;                  // groups of y in accumulators
  static constexpr bool kEnds = layout.key.work == Work::ends;  // whose places are those of a_.layout

  DANAUS_DEVICE explicit Block(const Arguments& a)
      : a_(a),
        warp_(device::warp_index()),
        part_(warp_ % layout.parts),
        lane_(device::lane_index()),
        g_(lane_ / 4),
        t_(lane_ % 4) {
    my_rows_ = layout.rows_begin + layout.rows_bytes * warp_;
    my_stages_ = layout.stages_begin + 2 * layout.stage_bytes * warp_;
  }

  DANAUS_DEVICE void run() {
    device::let_next_grid_begin();
    device::wait_for_previous_grid();
    for (int i = device::thread_index(); i < layout.shared_words / 4; i += layout.threads)
      device::copy_async(16 * i, prepared() + (kEnds ? a_.ends_begin : 0) + 4 * i, 16);
    place_rows();
    device::sync_warp();
    load(0, 0);
    device::copy_async_commit();
    device::copy_async_wait<0>();
    device::sync_block();
    if (layout.parts == 1 && first_row() >= rows()) return;  // else other warps wait for this one

    compute();
    end();
    if constexpr (layout.key.work == Work::convolve)
      if (has_nonfinite()) state::run_again<Block>(a_);
  }
  // Of rows that end before samples that are not finite.
  DANAUS_DEVICE void run_again() {
    cut_rows();
    load(0, 0);
    device::copy_async_commit();
    device::copy_async_wait<0>();
    device::sync_warp();
    compute();
  }

 private:
  // A row, or a part of one: samples first <= n < end are there, n = 0 at u[offset].
  struct Row {
    long long offset;
    int first, end;
  };

  // y of all rows and the states after them, from a first stage that is there.
  DANAUS_DEVICE void compute() {
    begin();
    const int most = static_cast<int>(min(a_.part_length, 1ll * a_.length));
    for (int from = 0, stage = 0; from < most; from += kStage, stage = 1 - stage) {
      if (from + kStage < most) load(1 - stage, from + kStage);
      device::copy_async_commit();
      DANAUS_UNROLL_BY(1)
      for (int group = 0; group < kStage / 32 && from + 32 * group < most; group += layout.pass / 32) {
        if (kEnds || from + 32 * group + layout.pass < most)
          pass<kChunks, true>(stage, from, group);
        else
          pass_last(stage, from, group, most);
      }
      if constexpr (kGathers) {
        device::sync_warp();
        store(stage, from);
      }
      device::copy_async_wait<0>();
      device::sync_warp();
    }
    if (layout.key.work == Work::convolve && a_.x_final && most % kChunk != 0) advance_by_less(most / kChunk * kChunk);
  }

  // What is not kept in registers, of which products need all.
  DANAUS_DEVICE int parts() const { return kEnds ? a_.ends : a_.parts; }
  DANAUS_DEVICE int rows() const { return a_.batch * parts(); }
  DANAUS_DEVICE int blocks_of_channel() const { return (rows() + layout.block_rows - 1) / layout.block_rows; }
  DANAUS_DEVICE int channel() const { return device::block_index() / blocks_of_channel(); }
  DANAUS_DEVICE const u32* prepared() const { return a_.prepared + 1ll * a_.channel_words * channel(); }

  // Parts whose ends are wanted end with a chunk; else they begin with one.
  DANAUS_DEVICE Row row_of(int number) const {
    const long long begin = number % parts() * a_.part_length;
    const int count = static_cast<int>(min(a_.part_length, a_.length - begin));
    const int first = kEnds ? static_cast<int>(a_.part_length) - count : 0;
    return {(1ll * (number / parts()) * a_.channels + channel()) * a_.length + begin - first, first, first + count};
  }
  // A row that there is not has no samples, but may be read like the warp's first. Behind the rows stands which samples
  // all have that are there, and the first row's number.
  DANAUS_DEVICE void place_rows() const {
    const int number =
        device::block_index() % blocks_of_channel() * layout.block_rows + warp_ / layout.parts * layout.warp_rows;
    Row row{0, 0, 0};
    u32 first = 0, before_end = ~0u;
    if (number < rows()) {
      const int i = lane_ < layout.warp_rows && number + lane_ < rows() ? lane_ : 0;
      row = row_of(number + i);
      first = row.first, before_end = ~static_cast<u32>(row.end);
      if (i != lane_) row.first = row.end = 0;
    }
    if (lane_ < layout.warp_rows)
      device::store_shared<16>(my_rows_ + 16 * lane_, {static_cast<u32>(row.offset), static_cast<u32>(row.offset >> 32),
                                                       static_cast<u32>(row.first), static_cast<u32>(row.end)});
    first = device::max_of_warp(first), before_end = device::max_of_warp(before_end);
    if (lane_ == 0)
      device::store_shared<16>(my_rows_ + 16 * layout.warp_rows, {first, ~before_end, static_cast<u32>(number), 0});
  }
  // Behind the rows' numbers stands whether the warp has met samples that are not finite. Warps that share states
  // agree.
  DANAUS_DEVICE bool has_nonfinite() const {
    float probe = 0;
    DANAUS_UNROLL
    for (int r = 0; r < kRowTiles; ++r) probe += probe_of(x_[r][0]);
    device::count_fp32(4 * kRowTiles);
    const bool of_warp = is_nan_of_warp(probe);
    if (layout.parts == 1) return of_warp;
    if (lane_ == 0) device::store_shared<4>(my_rows_ + 16 * layout.warp_rows + 12, {of_warp});
    device::sync_block();
    u32 of_block = 0;
    DANAUS_UNROLL
    for (int warp = 0; warp < layout.tuning.warps; ++warp)
      of_block |= device::load_shared<4>(layout.rows_begin + layout.rows_bytes * warp + 16 * layout.warp_rows + 12)[0];
    return of_block != 0;
  }
  // Rows end before their first sample that is not finite.
  DANAUS_DEVICE void cut_rows() const {
    static_assert(layout.key.work != Work::convolve || layout.warp_rows <= 32);
    int end = 0;  // of a row of each lane's; 0 where there is no row, or nothing of it that is not as before
    DANAUS_UNROLL_BY(1)
    for (int i = 0; i < layout.warp_rows; ++i) {
      const Row row = row_at(i);
      const int of_row = first_nonfinite<T>(a_.u, row.offset, row.first, row.end);
      if (lane_ == i) end = of_row;
    }
    const u32 before_end = device::max_of_warp(end > 0 ? ~static_cast<u32>(end) : 0);
    device::sync_warp();  // what the lanes read of the rows
    if (lane_ < layout.warp_rows) device::store_shared<4>(my_rows_ + 16 * lane_ + 12, {static_cast<u32>(end)});
    if (lane_ == 0) device::store_shared<4>(my_rows_ + 16 * layout.warp_rows + 4, {~before_end});
    device::sync_warp();
  }
  // Read where it is asked for: what begin and end compute of it would else stay in registers from one to the other.
  DANAUS_DEVICE int first_row() const {
    return static_cast<int>(device::load_shared<4>(my_rows_ + 16 * layout.warp_rows + 8)[0]);
  }
  DANAUS_DEVICE Row row_at(int i) const {
    const Words<4> w = device::load_shared<16>(my_rows_ + 16 * i);
    return {static_cast<long long>(w[0] | static_cast<unsigned long long>(w[1]) << 32), static_cast<int>(w[2]),
            static_cast<int>(w[3])};
  }

  // Eight samples of a row in a stage. The same ones of eight rows, and four of two rows, do not meet in a bank.
  DANAUS_DEVICE SharedAddress place(int stage, int row, int piece) const {
    return my_stages_ + stage * layout.stage_bytes + row * layout.row_bytes +
           16 * (piece ^ ((row & 1) << 2 | (row >> 1 & 3)));
  }

  // Whether all of the warp's rows have a stage, each in pieces of 16 bytes.
  DANAUS_DEVICE bool all_have(int from) const {
    const Words<2> all = device::load_shared<8>(my_rows_ + 16 * layout.warp_rows);
    return a_.aligned && from >= static_cast<int>(all[0]) && from + kStage <= static_cast<int>(all[1]);
  }
  // Calls visit(row, offset of its pieces lane % 8 + 8 m, place of the first), of samples from n = `from` on.
  template <class Visit>
  DANAUS_DEVICE void for_each_row_of_lane(int stage, int from, Visit visit) const {
    DANAUS_UNROLL
    for (int k = 0; k < layout.warp_rows / 4; ++k) {
      const int i = lane_ / 8 + 4 * k;
      visit(i, 2 * (row_at(i).offset + from + 8 * (lane_ % 8)), place(stage, i, lane_ % 8));
    }
  }
  static constexpr int kPieces = kStage / 64;  // of a row, 128 bytes apart, that a lane has of a stage

  DANAUS_DEVICE void load(int stage, int from) const {
    if (!all_have(from)) return load<kStage>(stage, from, 0, a_.aligned);
    for_each_row_of_lane(stage, from, [&](int, long long offset, SharedAddress to) {
      const unsigned char* u = static_cast<const unsigned char*>(a_.u) + offset;
      DANAUS_UNROLL
      for (int m = 0; m < kPieces; ++m) device::copy_async(to + 128 * m, u + 128 * m, 16);
    });
  }
  // Whether the row ends among eight samples, which are one access where rows are not cut.
  static DANAUS_DEVICE bool ends_among(const Row& row, int n) { return n < row.end && row.end < n + 8; }
  // So many samples of every row from sample n = `from` on; what a row has not, and what is before `least`, is zero.
  template <int count>
  DANAUS_DEVICE void load(int stage, int from, int least, bool aligned) const {
    const unsigned char* u = static_cast<const unsigned char*>(a_.u);
    DANAUS_UNROLL_BY(1)
    for (int i = lane_ / 8; i < layout.warp_rows; i += 4) {
      const Row row = row_at(i);
      const int first = max(row.first, least);
      DANAUS_UNROLL_BY(1)
      for (int piece = lane_ % 8; piece < count / 8; piece += 8) {
        const int n = from + 8 * piece;
        const SharedAddress to = place(stage, i, piece);
        if (aligned && (kEnds || !ends_among(row, n))) {
          const bool is_there = n >= first && n < row.end;
          device::copy_async(to, is_there ? u + 2 * (row.offset + n) : u, is_there ? 16 : 0);
        } else {
          Words<4> words{};
          for (int e = 0; e < 8; ++e)
            if (n + e >= first && n + e < row.end)
              words[e / 2] |= device::load_global<2>(u + 2 * (row.offset + n + e))[0] << (16 * (e % 2));
          device::store_shared<16>(to, words);
        }
      }
    }
  }

  // A stage's group of 32 samples of a tile of rows: of each half an operand.
  struct Samples {
    Words<4> half[2];
  };
  DANAUS_DEVICE Samples samples(int stage, int tile, int group) const {
    Samples s;
    DANAUS_UNROLL
    for (int half = 0; half < 2; ++half)
      s.half[half] =
          device::load_matrices<4, false>(place(stage, 16 * tile + lane_ % 16, 4 * group + 2 * half + lane_ / 16));
    return s;
  }
  static DANAUS_DEVICE void multiply(Sums& sum, const Samples& s, int half, u32 b0, u32 b1) {
    const Words<4>& u = s.half[half];
    device::mma_f32acc<T>(sum, {u[0], u[1], u[2], u[3]}, {b0, b1});
  }
  DANAUS_DEVICE Words<4> vector(int number) const { return device::load_shared<16>(16 * (32 * number + lane_)); }

  // So many chunks from a stage's group on: their y, and the state after them.
  template <int count, bool advances>
  DANAUS_DEVICE void pass(int stage, int from, int first) {
    constexpr bool kConvolves = layout.key.work == Work::convolve;
    if constexpr (!layout.whole_pass) {
      if constexpr (kConvolves) {
        DANAUS_UNROLL_BY(1)  // else what is packed for the first group keeps registers until the last
        for (int group = 0; group < layout.groups; group += kAtOnce) convolve<advances>(stage, from, first, group);
      }
      if constexpr (advances) advance<false>(stage, first);
    } else {
      constexpr int kGroups = layout.groups;
      Samples u[count][kGroups][kRowTiles];
      Sums sum[count][kGroups][kRowTiles][4] = {};
      DANAUS_UNROLL
      for (int c = 0; c < count; ++c) DANAUS_UNROLL
      for (int q = 0; q < kGroups; ++q) load_group(u[c][q], stage, first + kGroups * c + q);
      DANAUS_UNROLL
      for (int pair = 0; pair < layout.warp_tiles / 2; ++pair) {
        Words<4> out[kGroups][2];
        if constexpr (kConvolves) DANAUS_UNROLL
        for (int q = 0; q < kGroups; ++q) load_out(out[q], q, pair);
        const Step steps[2] = {step_of<false>(2 * pair), step_of<false>(2 * pair + 1)};
        DANAUS_UNROLL
        for (int c = 0; c < count; ++c) {
          if constexpr (kConvolves) {
            Operand x;
            pack_states(x, pair);
            DANAUS_UNROLL
            for (int q = 0; q < kGroups; ++q) add_states(sum[c][q], x, out[q]);
          }
          if constexpr (advances) {
            advance(2 * pair, steps[0], u[c]);
            advance(2 * pair + 1, steps[1], u[c]);
          }
        }
      }
      if constexpr (kConvolves) {
        Words<4> taps[kGroups][2][2];
        DANAUS_UNROLL
        for (int before = 0; before < kGroups; ++before) load_taps(taps[before], before);
        if constexpr (kGathers) device::sync_warp();  // samples that y is to stand in the place of
        DANAUS_UNROLL
        for (int c = 0; c < count; ++c) DANAUS_UNROLL
        for (int q = 0; q < kGroups; ++q) {
          DANAUS_UNROLL
          for (int before = 0; before <= q; ++before) add_group(sum[c][q], u[c][q - before], taps[before]);
          if constexpr (!advances) add_probes(sum[c][q]);
          store(sum[c][q], stage, from, first + kGroups * c + q);
        }
      }
    }
  }

  // The last samples of rows, `most`, chunk by chunk: the state moves only where something is to begin with it.
  DANAUS_DEVICE void pass_last(int stage, int from, int first, int most) {
    DANAUS_UNROLL_BY(1)
    for (int group = first; group < first + layout.pass / 32 && from + 32 * group < most; group += layout.groups) {
      const int end = from + 32 * group + kChunk;
      if (end < most || (a_.x_final && end == most))
        pass<1, true>(stage, from, group);
      else
        pass<1, false>(stage, from, group);
    }
  }

  // y of kAtOnce groups: where two warps have the states of a row, each has the samples of every other group.
  template <bool advances>
  DANAUS_DEVICE void convolve(int stage, int from, int first, int group) {
    Sums sum[kAtOnce][kRowTiles][4] = {};
    DANAUS_UNROLL
    for (int pair = 0; pair < layout.warp_tiles / 2; ++pair) {
      Operand x;
      pack_states(x, pair);
      DANAUS_UNROLL
      for (int q = 0; q < kAtOnce; ++q) {
        Words<4> out[2];
        load_out(out, group + q, pair);
        add_states(sum[q], x, out);
      }
    }
    if constexpr (layout.parts > 1) exchange(sum);
    add_samples(sum[0], stage, first, group + part_);
    if constexpr (!advances) add_probes(sum[0]);
    store(sum[0], stage, from, first + group + part_);
  }

  // Of eight states: as an operand, what y has of them, and that.
  using Operand = u32[kRowTiles][4];
  DANAUS_DEVICE void pack_states(Operand& x, int pair) const {
    DANAUS_UNROLL
    for (int r = 0; r < kRowTiles; ++r) DANAUS_UNROLL
    for (int i = 0; i < 4; ++i) {
      const Sums& of = x_[r][2 * pair + i / 2];
      x[r][i] = device::pack2<T>(of[2 * (i % 2)], of[2 * (i % 2) + 1]);
    }
  }
  DANAUS_DEVICE void load_out(Words<4> (&out)[2], int group, int pair) const {
    const int number = (part_ * (layout.warp_tiles / 2) + pair) * layout.groups + group;
    DANAUS_UNROLL
    for (int two = 0; two < 2; ++two) out[two] = vector(layout.out_begin + 2 * number + two);
  }
  static DANAUS_DEVICE void add_states(Sums (&sum)[kRowTiles][4], const Operand& x, const Words<4> (&out)[2]) {
    DANAUS_UNROLL
    for (int two = 0; two < 2; ++two) DANAUS_UNROLL
    for (int r = 0; r < kRowTiles; ++r) {
      device::mma_f32acc<T>(sum[r][2 * two], x[r], {out[two][0], out[two][1]});
      device::mma_f32acc<T>(sum[r][2 * two + 1], x[r], {out[two][2], out[two][3]});
    }
  }

  DANAUS_DEVICE void load_group(Samples (&u)[kRowTiles], int stage, int group) const {
    DANAUS_UNROLL
    for (int r = 0; r < kRowTiles; ++r) u[r] = samples(stage, r, group);
  }
  // Of samples that are some groups before.
  DANAUS_DEVICE void load_taps(Words<4> (&taps)[2][2], int apart) const {
    DANAUS_UNROLL
    for (int i = 0; i < 4; ++i) taps[i / 2][i % 2] = vector(layout.toeplitz_begin + 4 * apart + i);
  }
  static DANAUS_DEVICE void add_group(Sums (&sum)[kRowTiles][4], const Samples (&u)[kRowTiles],
                                      const Words<4> (&taps)[2][2]) {
    DANAUS_UNROLL
    for (int half = 0; half < 2; ++half) DANAUS_UNROLL
    for (int two = 0; two < 2; ++two) DANAUS_UNROLL
    for (int r = 0; r < kRowTiles; ++r) {
      const Words<4>& k = taps[half][two];
      multiply(sum[r][2 * two], u[r], half, k[0], k[1]);
      multiply(sum[r][2 * two + 1], u[r], half, k[2], k[3]);
    }
  }
  // Of the group itself and those before it in the chunk.
  DANAUS_DEVICE void add_samples(Sums (&sum)[kRowTiles][4], int stage, int first, int group) const {
    DANAUS_UNROLL
    for (int before = 0; before < layout.groups; ++before) {
      if (before > group) continue;
      Samples u[kRowTiles];
      Words<4> taps[2][2];
      load_group(u, stage, first + before);
      load_taps(taps, group - before);
      add_group(sum, u, taps);
    }
  }

  // To the states after the last group, which nothing else asks for: the first sample of a group meets all of it.
  DANAUS_DEVICE void add_probes(const Sums (&sum)[kRowTiles][4]) {
    if (a_.x_final) return;  // advance_by_less() is to come
    DANAUS_UNROLL
    for (int r = 0; r < kRowTiles; ++r) DANAUS_UNROLL
    for (int i = 0; i < 4; i += 2) x_[r][0][i] = device::fma(0.0f, sum[r][0][i], x_[r][0][i]);
    device::count_fp32(2 * kRowTiles);
  }

  // What both warps have of the group that is this one's becomes the first.
  DANAUS_DEVICE void exchange(Sums (&sum)[kAtOnce][kRowTiles][4]) const {
    const auto address = [&](int warp, int i) {
      return layout.sums_begin + layout.sums_bytes * warp + 16 * (32 * i + lane_);
    };
    const bool has_first = part_ == 0;
    DANAUS_UNROLL
    for (int i = 0; i < 4 * kRowTiles; ++i) {
      Words<4> others;
      DANAUS_UNROLL
      for (int e = 0; e < 4; ++e) {
        float& first = sum[0][i / 4][i % 4][e];
        const float second = sum[1][i / 4][i % 4][e];
        others[e] = word_of(has_first ? second : first);
        first = has_first ? first : second;
      }
      device::store_shared<16>(address(warp_, i), others);
    }
    device::sync_block();
    DANAUS_UNROLL
    for (int i = 0; i < 4 * kRowTiles; ++i) {
      const Words<4> more = device::load_shared<16>(address(warp_ ^ 1, i));
      DANAUS_UNROLL
      for (int e = 0; e < 4; ++e) sum[0][i / 4][i % 4][e] += float_of(more[e]);
    }
    device::count_fp32(16 * kRowTiles);
    device::sync_block();
  }

  DANAUS_DEVICE void store(const Sums (&sum)[kRowTiles][4], int stage, int from, int group) const {
    const float scale = float_of(device::load_shared<4>(4 * layout.y_scale)[0]);
    DANAUS_UNROLL
    for (int r = 0; r < kRowTiles; ++r) DANAUS_UNROLL
    for (int upper = 0; upper < 2; ++upper) {
      Words<4> words;
      DANAUS_UNROLL
      for (int i = 0; i < 4; ++i)
        words[i] = device::pack2<T>(scale * sum[r][i][2 * upper], scale * sum[r][i][2 * upper + 1]);
      device::count_fp32(8);
      const int row = 16 * r + g_ + 8 * upper, piece = 4 * group + t_;
      if constexpr (kGathers)
        device::store_shared<16>(place(stage, row, piece), words);
      else
        store(row_at(row), from + 8 * piece, words);
    }
  }
  // A stage that y has taken the place of.
  DANAUS_DEVICE void store(int stage, int from) const {
    const int first = first_row();
    if (all_have(from))
      return for_each_row_of_lane(stage, from, [&](int i, long long offset, SharedAddress place) {
        unsigned char* y = static_cast<unsigned char*>(a_.y) + offset;
        DANAUS_UNROLL
        for (int m = 0; m < kPieces; ++m) {
          const Words<4> words = device::load_shared<16>(place + 128 * m);
          if (first + i < rows()) device::store_global<16>(y + 128 * m, words);
        }
      });
    DANAUS_UNROLL_BY(1)
    for (int i = lane_ / 8; i < layout.warp_rows; i += 4) {
      const Row row = row_at(i);
      DANAUS_UNROLL_BY(1)
      for (int piece = lane_ % 8; piece < kStage / 8; piece += 8)
        store(row, from + 8 * piece, device::load_shared<16>(place(stage, i, piece)));
    }
  }
  DANAUS_DEVICE void store(const Row& row, int n, const Words<4>& words) const {
    unsigned char* to = static_cast<unsigned char*>(a_.y) + 2 * (row.offset + n);
    if (a_.aligned && !ends_among(row, n)) {
      if (n < row.end) device::store_global<16>(to, words);
      return;
    }
    DANAUS_UNROLL
    for (int e = 0; e < 8; ++e)
      if (n + e < row.end) device::store_global<2>(to + 2 * e, {words[e / 2] >> (16 * (e % 2)) & 0xffffu});
  }

  // The state after a chunk; `tail`: after what has been moved to the end of one.
  template <bool tail>
  DANAUS_DEVICE void advance(int stage, int first) {
    Samples u[layout.groups][kRowTiles];
    DANAUS_UNROLL
    for (int q = 0; q < layout.groups; ++q) load_group(u[q], stage, first + q);
    DANAUS_UNROLL
    for (int j = 0; j < layout.warp_tiles; ++j) advance(j, step_of<tail>(j), u);
  }
  // Of four states: what a chunk leaves of them, and what it adds.
  struct Step {
    Complex32 decay;
    Words<4> in[layout.groups];
  };
  template <bool tail>
  DANAUS_DEVICE Step step_of(int j) const {
    const int tile = part_ * layout.warp_tiles + j, state = 4 * tile + t_;
    Step step{decay_of<P, tail>(prepared(), state), {}};
    DANAUS_UNROLL
    for (int q = 0; q < layout.groups; ++q) step.in[q] = vector(tile * layout.groups + q);
    return step;
  }
  DANAUS_DEVICE void advance(int j, const Step& step, const Samples (&u)[layout.groups][kRowTiles]) {
    DANAUS_UNROLL
    for (int r = 0; r < kRowTiles; ++r) decay(x_[r][j], step.decay);
    DANAUS_UNROLL
    for (int q = 0; q < layout.groups; ++q) DANAUS_UNROLL
    for (int r = 0; r < kRowTiles; ++r) {
      multiply(x_[r][j], u[q][r], 0, step.in[q][0], step.in[q][1]);
      multiply(x_[r][j], u[q][r], 1, step.in[q][2], step.in[q][3]);
    }
  }

  // After the last samples of a row, fewer than a chunk: as the end of one that has nothing before them.
  DANAUS_DEVICE void advance_by_less(int from) {
    load<kChunk>(0, a_.length - kChunk, from, false);
    device::sync_warp();
    advance<true>(0, 0);
  }

  // Calls visit(x, x + 1, place among the states of a field [B, P, H, S], state) of what the lane has of the state.
  template <class Visit>
  DANAUS_DEVICE void for_each_state(Visit visit) {
    DANAUS_UNROLL
    for (int r = 0; r < kRowTiles; ++r) DANAUS_UNROLL
    for (int upper = 0; upper < 2; ++upper) {
      const int row = first_row() + 16 * r + g_ + 8 * upper;
      if (row >= rows()) continue;
      const long long field_row = 1ll * (row / parts()) * a_.parts + row % parts();
      const int first = 4 * part_ * layout.warp_tiles + t_;
      const long long place = 2 * ((field_row * a_.channels + channel()) * a_.states + first);
      DANAUS_UNROLL
      for (int j = 0; j < layout.warp_tiles; ++j)
        if (first + 4 * j < a_.states)
          visit(x_[r][j][2 * upper], x_[r][j][2 * upper + 1], place + 8 * j, first + 4 * j);
    }
  }
  DANAUS_DEVICE void begin() {
    DANAUS_UNROLL
    for (int r = 0; r < kRowTiles; ++r) DANAUS_UNROLL
    for (int j = 0; j < layout.warp_tiles; ++j) x_[r][j][0] = x_[r][j][1] = x_[r][j][2] = x_[r][j][3] = 0;
    if (kEnds || !a_.x_initial) return;
    load_states<P>(a_.x_initial, [&](auto visit) { for_each_state(visit); });
  }
  DANAUS_DEVICE void end() {
    float* const to = kEnds ? a_.x_parts : a_.x_final;
    if (to) store_states<P>(to, [&](auto visit) { for_each_state(visit); });
  }

  const Arguments& a_;
  int warp_, part_, lane_, g_, t_;
  SharedAddress my_rows_, my_stages_;
  Sums x_[kRowTiles][layout.warp_tiles];
};

template <class P, Path path>
DANAUS_DEVICE void run(const Arguments& arguments) {
  constexpr Work kWork = P::layout.key.work;
  if constexpr (P::layout.key.group)
    Group<P, path>(arguments).run();
  else if constexpr (P::layout.is_product)
    Block<P>(arguments).run();
  else if constexpr (kWork == Work::prepare)
    Preparation<P::layout.key.dtype>(arguments, P::layout.threads).run();
  else if constexpr (kWork == Work::carry)
    carry<P>(arguments);
  else
    step<P>(arguments);
}

}  // namespace danaus::state::inline DANAUS_BACKEND
