// state: y = conv(u, k), k[n] = Re sum_s C_s A_s^n B_s, chunk by chunk of T samples with the state between.
//
// source     chunks with a state: H3 (Dao et al. 2023), whose FlashConv passes it between chunks; here all of it, the
//            chunk's own convolution too, is products of small matrices
// index      of a chunk, i, j < T, x the state before it:
//              y[i] = sum_{j <= i} k[i - j] u[j] + Re sum_s C_s A_s^(i+1) x_s
//              x'_s = A_s^T x_s + sum_j A_s^(T-1-j) B_s u[j]
//            16 rows of the batch are the rows of a product, samples and states (re and im) its columns. So the state
//            as it is summed up is an operand of the next chunk, a row's samples are a lane's in pieces of 16 bytes,
//            and nothing but u passes through shared memory; the matrices of a channel stay there for all rows and
//            chunks.
// shapes     u, y [B, H, L]; a row may be cut into P parts, which are rows like others: first the state that each
//            leaves by itself (ends), then the one that each begins with (carry), then y
// types      u, y and operands f16 or bf16; sums and states f32; powers of A in double, rounded once
// scaling    operands by powers of two: states by what white noise makes of them, so that f16 holds those of samples
// from
//            2^-13 to 2^6 and more; matrices of y so that their largest numbers are below 2^10
// memory     a block has a channel and up to 64 rows; two stages of samples by cp.async; y from registers
// error      counted by kRoundings: matrices in and out, the state as an operand, y; beside them, of L / T chunks, the
//            rounding of A^T (reference/state/recurrence.hpp)
// reference  reference/state/recurrence.hpp   test   tests/kernels/state_test.cpp
#pragma once

#include "kernels/families/state/prepare.hpp"

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
  static constexpr int kChunk = layout.tuning.chunk, kRowTiles = layout.tuning.row_tiles;
  static constexpr int kAtOnce = layout.parts;  // groups of y in accumulators

  DANAUS_DEVICE explicit Block(const Arguments& a)
      : a_(a),
        rows_(a.batch * a.parts),
        warp_(device::warp_index()),
        part_(warp_ % layout.parts),
        lane_(device::lane_index()),
        g_(lane_ / 4),
        t_(lane_ % 4) {
    const int blocks_of_channel = (rows_ + layout.block_rows - 1) / layout.block_rows;
    channel_ = device::block_index() / blocks_of_channel;
    first_row_ =
        device::block_index() % blocks_of_channel * layout.block_rows + warp_ / layout.parts * layout.warp_rows;
    prepared_ = a.prepared + 1ll * layout.channel_words * channel_;
    my_rows_ = layout.rows_begin + 16 * layout.warp_rows * warp_;
    my_stages_ = layout.stages_begin + 2 * layout.stage_bytes * warp_;
  }

  DANAUS_DEVICE void run() {
    device::let_next_grid_begin();
    device::wait_for_previous_grid();
    for (int i = device::thread_index(); i < layout.shared_words / 4; i += layout.threads)
      device::copy_async(16 * i, prepared_ + 4 * i, 16);
    place_rows();
    device::sync_warp();
    load(0, 0, 0, a_.aligned);
    device::copy_async_commit();
    device::copy_async_wait<0>();
    device::sync_block();
    if (layout.parts == 1 && first_row_ >= rows_) return;  // else other warps wait for this one

    begin();
    const int most = static_cast<int>(min(a_.part_length, 1ll * a_.length));
    const int chunks = (most + kChunk - 1) / kChunk;
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const int from = chunk * kChunk, stage = chunk % 2;
      if (chunk + 1 < chunks) load(1 - stage, from + kChunk, 0, a_.aligned);
      device::copy_async_commit();
      if constexpr (layout.key.work == Work::convolve) {
        DANAUS_UNROLL_BY(1)  // else what is packed for the first group keeps registers until the last
        for (int group = 0; group < layout.groups; group += kAtOnce) convolve(stage, from, group);
      }
      const bool is_last = chunk + 1 == chunks;
      if (layout.key.work == Work::ends || !is_last || (a_.x_final && from + kChunk == most))
        advance<false>(stage);
      else if (a_.x_final)
        advance_by_less(stage, from);
      device::copy_async_wait<0>();
      device::sync_warp();
    }
    end();
  }

 private:
  // A row, or a part of one: samples first <= n < end are there, n = 0 at u[offset].
  struct Row {
    long long offset;
    int first, end;
  };
  using Sums = float[4];

  // Parts whose ends are wanted end with a chunk; else they begin with one.
  DANAUS_DEVICE void place_rows() const {
    for (int i = lane_; i < layout.warp_rows; i += 32) {
      const int number = first_row_ + i;
      Row row{0, 0, 0};
      if (number < rows_) {
        const long long begin = number % a_.parts * a_.part_length;
        const int count = static_cast<int>(min(a_.part_length, a_.length - begin));
        row.first = layout.key.work == Work::ends ? static_cast<int>(a_.part_length) - count : 0;
        row.end = row.first + count;
        row.offset = (1ll * (number / a_.parts) * a_.channels + channel_) * a_.length + begin - row.first;
      }
      device::store_shared<16>(my_rows_ + 16 * i, {static_cast<u32>(row.offset), static_cast<u32>(row.offset >> 32),
                                                   static_cast<u32>(row.first), static_cast<u32>(row.end)});
    }
  }
  DANAUS_DEVICE Row row_at(int i) const {
    const Words<4> w = device::load_shared<16>(my_rows_ + 16 * i);
    return {static_cast<long long>(w[0] | static_cast<unsigned long long>(w[1]) << 32), static_cast<int>(w[2]),
            static_cast<int>(w[3])};
  }

  // Eight samples of a row in a stage; rows beside each other do not meet in a bank.
  DANAUS_DEVICE SharedAddress place(int stage, int row, int piece) const {
    return my_stages_ + stage * layout.stage_bytes + row * layout.row_bytes + 16 * (piece ^ (row & 1) << 2);
  }

  // A chunk of every row from sample n = `from` on; what a row has not, and what is before `least`, is zero.
  DANAUS_DEVICE void load(int stage, int from, int least, bool aligned) const {
    constexpr int kPieces = kChunk / 8;
    const unsigned char* u = static_cast<const unsigned char*>(a_.u);
    DANAUS_UNROLL_BY(1)
    for (int i = lane_; i < layout.warp_rows * kPieces; i += 32) {
      const Row row = row_at(i / kPieces);
      const int n = from + 8 * (i % kPieces), first = max(row.first, least);
      const SharedAddress to = place(stage, i / kPieces, i % kPieces);
      if (aligned) {
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

  // Of a group of 32 samples the lane's eight of rows g and g + 8 of a tile, and half of them as a fragment.
  struct Samples {
    Words<4> lower, upper;
  };
  DANAUS_DEVICE Samples samples(int stage, int tile, int group) const {
    return {device::load_shared<16>(place(stage, 16 * tile + g_, 4 * group + t_)),
            device::load_shared<16>(place(stage, 16 * tile + g_ + 8, 4 * group + t_))};
  }
  static DANAUS_DEVICE void multiply(Sums& sum, const Samples& s, int half, u32 b0, u32 b1) {
    device::mma_f32acc<T>(sum, {s.lower[2 * half], s.upper[2 * half], s.lower[2 * half + 1], s.upper[2 * half + 1]},
                          {b0, b1});
  }
  DANAUS_DEVICE Words<4> vector(int number) const { return device::load_shared<16>(16 * (32 * number + lane_)); }

  // y of kAtOnce groups: where two warps have the states of a row, each has the samples of every other group.
  DANAUS_DEVICE void convolve(int stage, int from, int group) const {
    Sums sum[kAtOnce][kRowTiles][4] = {};
    add_states(sum, group);
    if constexpr (layout.parts > 1) exchange(sum);
    add_samples(sum[0], stage, group + part_);
    store(sum[0], from, group + part_);
  }

  DANAUS_DEVICE void add_states(Sums (&sum)[kAtOnce][kRowTiles][4], int group) const {
    DANAUS_UNROLL
    for (int pair = 0; pair < layout.warp_tiles / 2; ++pair) {
      u32 x[kRowTiles][4];
      DANAUS_UNROLL
      for (int r = 0; r < kRowTiles; ++r) DANAUS_UNROLL
      for (int i = 0; i < 4; ++i) {
        const Sums& of = x_[r][2 * pair + i / 2];
        x[r][i] = device::pack2<T>(of[2 * (i % 2)], of[2 * (i % 2) + 1]);
      }
      const int number = part_ * (layout.warp_tiles / 2) + pair;
      DANAUS_UNROLL
      for (int q = 0; q < kAtOnce; ++q) DANAUS_UNROLL
      for (int two = 0; two < 2; ++two) {
        const Words<4> out = vector(layout.out_begin + (number * layout.groups + group + q) * 2 + two);
        DANAUS_UNROLL
        for (int r = 0; r < kRowTiles; ++r) {
          device::mma_f32acc<T>(sum[q][r][2 * two], x[r], {out[0], out[1]});
          device::mma_f32acc<T>(sum[q][r][2 * two + 1], x[r], {out[2], out[3]});
        }
      }
    }
  }

  // Of the group itself and those before it in the chunk.
  DANAUS_DEVICE void add_samples(Sums (&sum)[kRowTiles][4], int stage, int group) const {
    DANAUS_UNROLL
    for (int before = 0; before < layout.groups; ++before) {
      if (before > group) continue;
      Samples u[kRowTiles];
      DANAUS_UNROLL
      for (int r = 0; r < kRowTiles; ++r) u[r] = samples(stage, r, before);
      DANAUS_UNROLL
      for (int half = 0; half < 2; ++half) DANAUS_UNROLL
      for (int two = 0; two < 2; ++two) {
        const Words<4> k = vector(layout.toeplitz_begin + ((group - before) * 2 + half) * 2 + two);
        DANAUS_UNROLL
        for (int r = 0; r < kRowTiles; ++r) {
          multiply(sum[r][2 * two], u[r], half, k[0], k[1]);
          multiply(sum[r][2 * two + 1], u[r], half, k[2], k[3]);
        }
      }
    }
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

  DANAUS_DEVICE void store(const Sums (&sum)[kRowTiles][4], int from, int group) const {
    DANAUS_UNROLL
    for (int r = 0; r < kRowTiles; ++r) DANAUS_UNROLL
    for (int upper = 0; upper < 2; ++upper) {
      Words<4> words;
      DANAUS_UNROLL
      for (int i = 0; i < 4; ++i)
        words[i] = device::pack2<T>(y_scale_ * sum[r][i][2 * upper], y_scale_ * sum[r][i][2 * upper + 1]);
      device::count_fp32(8);
      store(16 * r + g_ + 8 * upper, from + 32 * group + 8 * t_, words);
    }
  }
  DANAUS_DEVICE void store(int i, int n, const Words<4>& words) const {
    const Row row = row_at(i);
    unsigned char* to = static_cast<unsigned char*>(a_.y) + 2 * (row.offset + n);
    if (a_.aligned) {
      if (n < row.end) device::store_global<16>(to, words);
      return;
    }
    DANAUS_UNROLL
    for (int e = 0; e < 8; ++e)
      if (n + e < row.end) device::store_global<2>(to + 2 * e, {words[e / 2] >> (16 * (e % 2)) & 0xffffu});
  }

  // The state after a chunk; `tail`: after what has been moved to the end of one.
  template <bool tail>
  DANAUS_DEVICE void advance(int stage) {
    Samples u[kRowTiles][layout.groups];
    DANAUS_UNROLL
    for (int r = 0; r < kRowTiles; ++r) DANAUS_UNROLL
    for (int q = 0; q < layout.groups; ++q) u[r][q] = samples(stage, r, q);
    DANAUS_UNROLL
    for (int j = 0; j < layout.warp_tiles; ++j) {
      const int tile = part_ * layout.warp_tiles + j, state = 4 * tile + t_;
      const Words<2> w = tail ? device::load_global<8>(prepared_ + layout.tail_decay + 2 * state)
                              : device::load_shared<8>(4 * (layout.decay + 2 * state));
      const float re = float_of(w[0]), im = float_of(w[1]);
      DANAUS_UNROLL
      for (int r = 0; r < kRowTiles; ++r) {
        Sums& x = x_[r][j];
        const Sums before = {x[0], x[1], x[2], x[3]};
        DANAUS_UNROLL
        for (int i = 0; i < 4; i += 2) {
          x[i] = re * before[i] - im * before[i + 1];
          x[i + 1] = re * before[i + 1] + im * before[i];
        }
        device::count_fp32(8);
      }
      DANAUS_UNROLL
      for (int q = 0; q < layout.groups; ++q) {
        const Words<4> in = vector(tile * layout.groups + q);
        DANAUS_UNROLL
        for (int r = 0; r < kRowTiles; ++r) {
          multiply(x_[r][j], u[r][q], 0, in[0], in[1]);
          multiply(x_[r][j], u[r][q], 1, in[2], in[3]);
        }
      }
    }
  }

  // After the last samples of a row, fewer than a chunk: as the end of one that has nothing before them.
  DANAUS_DEVICE void advance_by_less(int stage, int from) {
    device::sync_warp();
    load(stage, a_.length - kChunk, from, false);
    device::sync_warp();
    advance<true>(stage);
  }

  // Calls visit(x, x + 1, place among the states of a field [B, P, H, S], scale) of what the lane has of the state.
  template <class Visit>
  DANAUS_DEVICE void for_each_state(Visit visit) {
    DANAUS_UNROLL
    for (int j = 0; j < layout.warp_tiles; ++j) {
      const int state = 4 * (part_ * layout.warp_tiles + j) + t_;
      if (state >= a_.states) continue;
      const float scale = float_of(device::load_global<4>(prepared_ + layout.scale + state)[0]);
      DANAUS_UNROLL
      for (int r = 0; r < kRowTiles; ++r) DANAUS_UNROLL
      for (int upper = 0; upper < 2; ++upper) {
        const int row = first_row_ + 16 * r + g_ + 8 * upper;
        if (row >= rows_) continue;
        visit(x_[r][j][2 * upper], x_[r][j][2 * upper + 1],
              2 * ((1ll * row * a_.channels + channel_) * a_.states + state), scale);
      }
    }
  }
  DANAUS_DEVICE void begin() {
    y_scale_ = float_of(device::load_global<4>(prepared_ + layout.y_scale)[0]);
    if (!a_.x_initial) return;
    for_each_state([&](float& re, float& im, long long at, float scale) {
      const Words<2> w = device::load_global<8>(a_.x_initial + at);
      re = float_of(w[0]) / scale, im = float_of(w[1]) / scale;
    });
  }
  DANAUS_DEVICE void end() {
    float* to = layout.key.work == Work::ends ? a_.x_parts : a_.x_final;
    if (!to) return;
    for_each_state([&](float re, float im, long long at, float scale) {
      device::store_global<8>(to + at, {word_of(re * scale), word_of(im * scale)});
    });
  }

  const Arguments& a_;
  int rows_, warp_, part_, lane_, g_, t_, channel_, first_row_;
  const u32* prepared_;
  SharedAddress my_rows_, my_stages_;
  float y_scale_;
  Sums x_[kRowTiles][layout.warp_tiles] = {};  // state 4 j + t of rows g (re, im) and g + 8, over its scale
};

// What each part of a row begins with, in place of the ends: a thread a state.
template <class P>
DANAUS_DEVICE void carry(const Arguments& a) {
  device::let_next_grid_begin();
  device::wait_for_previous_grid();
  const long long states = 1ll * a.channels * a.states, count = states * a.batch;
  const long long stride = 1ll * device::block_count() * P::layout.threads;
  for (long long i = 1ll * device::block_index() * P::layout.threads + device::thread_index(); i < count; i += stride) {
    const long long row = i / states, state = i % states;
    const u32* prepared = a.prepared + state / a.states * a.layout.channel_words;
    const auto decay_at = [&](int place) { return load_complex(prepared + place + 2 * (state % a.states)); };
    const Complex32 decay = decay_at(a.layout.part_decay), last = decay_at(a.layout.last_decay);
    Complex32 x = a.x_initial ? load_complex(a.x_initial + 2 * i) : Complex32{0, 0};
    for (int part = 0; part < a.parts; ++part) {
      float* at = a.x_parts + 2 * ((row * a.parts + part) * states + state);
      const Complex32 end = load_complex(at);
      store_complex(at, x);
      x = add(times(part + 1 < a.parts ? decay : last, x), end);
    }
    if (a.x_final) store_complex(a.x_final + 2 * i, x);
  }
}

// Sample by sample, a warp a row: for sequences of a few samples, as one that is generated.
template <class P>
DANAUS_DEVICE void step(const Arguments& a) {
  constexpr Dtype T = P::layout.key.dtype;
  constexpr int kOfLane = kMostStates / 32;
  device::let_next_grid_begin();
  device::wait_for_previous_grid();
  const long long row = 1ll * device::block_index() * P::layout.tuning.warps + device::warp_index();
  if (row >= 1ll * a.batch * a.channels) return;
  const int lane = device::lane_index();
  const u32* prepared = a.prepared + row % a.channels * a.layout.channel_words;
  Complex32 x[kOfLane], p[kOfLane], b[kOfLane], c[kOfLane];
  DANAUS_UNROLL
  for (int i = 0; i < kOfLane; ++i) {
    const int state = lane + 32 * i;
    x[i] = p[i] = b[i] = c[i] = {0, 0};
    if (state >= a.states) continue;
    p[i] = load_complex(prepared + a.layout.a + 2 * state), b[i] = load_complex(prepared + a.layout.b + 2 * state);
    c[i] = load_complex(prepared + a.layout.c + 2 * state);
    if (a.x_initial) x[i] = load_complex(a.x_initial + 2 * (row * a.states + state));
  }
  for (int n = 0; n < a.length; ++n) {
    const float u = device::lower_float<T>(
        device::load_global<2>(static_cast<const unsigned char*>(a.u) + 2 * (row * a.length + n))[0]);
    float y = 0;
    DANAUS_UNROLL
    for (int i = 0; i < kOfLane; ++i) {
      x[i] = add(times(p[i], x[i]), {b[i].re * u, b[i].im * u});
      y += c[i].re * x[i].re - c[i].im * x[i].im;
    }
    device::count_fp32(14 * kOfLane);
    DANAUS_UNROLL
    for (int apart = 16; apart > 0; apart /= 2) y += float_of(device::shuffle(word_of(y), lane ^ apart));
    if (lane == 0)
      device::store_global<2>(static_cast<unsigned char*>(a.y) + 2 * (row * a.length + n),
                              {device::pack2<T>(y, 0) & 0xffffu});
  }
  DANAUS_UNROLL
  for (int i = 0; i < kOfLane; ++i)
    if (const int state = lane + 32 * i; a.x_final && state < a.states)
      store_complex(a.x_final + 2 * (row * a.states + state), x[i]);
}

template <class P, Path>
DANAUS_DEVICE void run(const Arguments& arguments) {
  constexpr Work kWork = P::layout.key.work;
  if constexpr (P::layout.is_product)
    Block<P>(arguments).run();
  else if constexpr (kWork == Work::prepare)
    Preparation<P::layout.key.dtype>(arguments, P::layout.threads).run();
  else if constexpr (kWork == Work::carry)
    carry<P>(arguments);
  else
    step<P>(arguments);
}

}  // namespace danaus::state::inline DANAUS_BACKEND
