// Short filters of rows in shared memory: X'[n] = sum_t taps[t] X[n - t] + bias, causal, with zeros before the row.
//
// As products of matrices, 128 samples each: A has 16 chunks of 8 samples, every one behind the chunk before it, and B
// the taps in a band. Taps are fp32, split in two numbers of the samples' type; of f16 they are first multiplied by a
// power of two. Sums are fp32.
#pragma once

#include "kernels/memory/rows.hpp"
#include "kernels/tile/scaled.hpp"

namespace danaus::inline DANAUS_BACKEND {

// The numbers of parts among the filters.
enum class FilteredPart { u, pregate, postgate };
template <class Arguments>
DANAUS_DEVICE int number_of(const Arguments& a, FilteredPart part) {
  return part == FilteredPart::u ? 0 : part == FilteredPart::pregate ? 1 : 1 + (a.pregate != nullptr);
}

// One filter, in the registers of a warp.
template <Dtype T>
class ShortFilter {
 public:
  DANAUS_DEVICE void load(const FilteredArguments& a, FilteredPart part, int channel) {
    const long long row = 1ll * number_of(a, part) * a.channels + channel;
    const float* taps = a.taps + row * a.tap_count;
    const int g = device::lane_index() / 4, t = device::lane_index() % 4;
    float own[4];  // rows 2t, 2t + 1, 2t + 8, 2t + 9 of column g: tap g + 8 - row
    DANAUS_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int tap = g + 8 - (2 * t + i % 2 + i / 2 * 8);
      own[i] = tap >= 0 && tap < a.tap_count ? float_of(device::load_global<4>(taps + tap)[0]) : 0;
    }
    bias_ = a.bias ? float_of(device::load_global<4>(a.bias + row)[0]) : 0;
    if constexpr (T == Dtype::f16) {
      u32 greatest = 0;
      DANAUS_UNROLL
      for (int i = 0; i < 4; ++i) greatest = max(greatest, word_of(own[i]) & 0x7fffffffu);
      constexpr int kLeast = 127 - 60;  // what is smaller counts for nothing in f16
      const int exponent = min(max(static_cast<int>(device::max_of_warp(greatest) >> 23), kLeast), 253);
      const float up = scaled::power_of_two(254 - exponent);
      scale_ = scaled::power_of_two(exponent);
      DANAUS_UNROLL
      for (int i = 0; i < 4; ++i) own[i] *= up;
      bias_ *= up;
    }
    DANAUS_UNROLL
    for (int i = 0; i < 2; ++i) {
      high_[i] = device::pack2<T>(own[2 * i], own[2 * i + 1]);
      low_[i] = device::pack2<T>(own[2 * i] - device::lower_float<T>(high_[i]),
                                 own[2 * i + 1] - device::upper_float<T>(high_[i]));
    }
  }

  // The filtered samples of 16 chunks: of row lane / 4 two in 0 and 1, of the eighth from that two in 2 and 3.
  DANAUS_DEVICE void apply(const u32 (&window)[4], float (&samples)[4]) const {
    DANAUS_UNROLL
    for (float& sample : samples) sample = bias_;
    device::mma_f32acc<T>(samples, window, low_);
    device::mma_f32acc<T>(samples, window, high_);
    if constexpr (T == Dtype::f16) {
      DANAUS_UNROLL
      for (float& sample : samples) sample *= scale_;
      device::count_fp32(4);
    }
  }

 private:
  u32 high_[2], low_[2];
  float bias_, scale_;
};

// Blocks of 128 samples, 16 chunks, that a warp filters, an even number from an even one on. It takes two at once, from
// the last ones to the first, so that what it reads of the block before is as it came. What stands before `first`,
// other warps may write: it is read beforehand.
struct FilteredBlocks {
  int first, last;
};

// A part's row in shared memory: chunk_at(number) is where a chunk is, `before` a lane's word of the one before the
// blocks, zero where the row begins with them. `spread`: rows are lines of 64 samples, so that every fourth chunk is in
// banks of its own.
template <bool spread, class ChunkAt>
struct FilteredRow {
  ChunkAt chunk_at;
  u32 before = 0;

  DANAUS_DEVICE FilteredRow(const FilteredBlocks& blocks, bool present, ChunkAt at) : chunk_at(at) {
    const int lane = device::lane_index();
    if (present && blocks.first > 0 && lane < 4)
      before = device::load_shared<4>(chunk_at(16 * blocks.first - 1) + 4 * lane)[0];
  }
  // The chunks of two blocks, each behind the one before it, as operands of two products. Rows that are `spread` have
  // every fourth chunk, so that most of what stands before is another row; else they have one chunk after the other.
  DANAUS_DEVICE void load(int block, const FilteredBlocks& blocks, u32 (&windows)[2][4]) const {
    const int lane = device::lane_index(), begin = 16 * blocks.first;
    const Words<4> own = device::load_matrices<4, false>(chunk_at(chunk_of_lane(block)));
    Words<4> last;
    if constexpr (spread) {
      const int chunk = 16 * block + lane % 8 * 4 - 1;
      last = {device::load_matrices<1, false>(chunk_at(max(chunk, begin)))[0], own[0], own[1], own[2]};
    } else {
      last = device::load_matrices<4, false>(chunk_at(max(16 * block + lane - 1, begin)));
    }
    if (block == blocks.first && lane < 4) last[0] = before;
    DANAUS_UNROLL
    for (int i = 0; i < 4; ++i) windows[i / 2][i % 2] = last[i], windows[i / 2][2 + i % 2] = own[i];
  }
  // What apply() gave of both, rounded, over the blocks.
  template <Dtype T>
  DANAUS_DEVICE void store(int block, const float (&samples)[2][4]) const {
    Words<4> words;
    DANAUS_UNROLL
    for (int i = 0; i < 4; ++i) words[i] = device::pack2<T>(samples[i / 2][i % 2 * 2], samples[i / 2][i % 2 * 2 + 1]);
    device::store_matrices<4, false>(chunk_at(chunk_of_lane(block)), words);
  }
  // Whose address a lane says: row lane % 8 of matrix lane / 8.
  static DANAUS_DEVICE int chunk_of_lane(int block) {
    const int lane = device::lane_index();
    return 16 * block + (spread ? lane % 8 * 4 + lane / 8 : lane);
  }
  // Zeros from sample `length` on, in the two blocks that it is in, for the warp that has filtered them.
  DANAUS_DEVICE void cut(int length, const FilteredBlocks& blocks) const {
    const int block = length / 256 * 2, chunk = length / 8 + device::lane_index();
    if (length % 256 == 0 || block < blocks.first || block > blocks.last) return;
    device::sync_warp();
    if (chunk >= 16 * (block + 2)) return;
    const SharedAddress at = chunk_at(chunk);
    device::store_shared<16>(at, within({0, 0, length}, 8 * chunk, device::load_shared<16>(at)));
  }
};
template <bool spread, class ChunkAt>
DANAUS_DEVICE FilteredRow<spread, ChunkAt> filtered_row(const FilteredBlocks& blocks, bool present, ChunkAt at) {
  return {blocks, present, at};
}

// The filters of a channel: of u and of the gates that there are.
template <Dtype T>
class ShortFilters {
 public:
  DANAUS_DEVICE void hold(const FilteredArguments& a, int channel) {
    if (channel == channel_) return;
    channel_ = channel;
    u_.load(a, FilteredPart::u, channel);
    if (a.pregate) pregate_.load(a, FilteredPart::pregate, channel);
    if (a.postgate) postgate_.load(a, FilteredPart::postgate, channel);
  }

  // u times the pregate, each filtered, over u; zeros behind the row.
  template <class OfU, class OfPregate>
  DANAUS_DEVICE void filter(const FilteredArguments& a, const FilteredBlocks& blocks, const OfU& u,
                            const OfPregate& pregate) const {
    if (a.pregate)
      for_each_two(a, blocks, [&](int block) { filter_two<true>(block, blocks, u, pregate); });
    else
      for_each_two(a, blocks, [&](int block) { filter_two<false>(block, blocks, u, pregate); });
    u.cut(a.length, blocks);
  }
  // The postgate over itself.
  template <class OfPostgate>
  DANAUS_DEVICE void filter_postgate(const FilteredArguments& a, const FilteredBlocks& blocks,
                                     const OfPostgate& postgate) const {
    for_each_two(a, blocks, [&](int block) {
      float samples[2][4];
      apply(postgate_, postgate, block, blocks, samples);
      device::sync_warp();  // lanes write what others have read
      postgate.template store<T>(block, samples);
    });
  }

 private:
  template <class Visit>
  static DANAUS_DEVICE void for_each_two(const FilteredArguments& a, const FilteredBlocks& blocks, Visit visit) {
    DANAUS_UNROLL_BY(1)
    for (int block = min(blocks.last - 1, (a.length - 1) / 256 * 2); block >= blocks.first; block -= 2) visit(block);
  }
  template <bool has_pregate, class OfU, class OfPregate>
  DANAUS_DEVICE void filter_two(int block, const FilteredBlocks& blocks, const OfU& u, const OfPregate& pregate) const {
    float samples[2][4];
    apply(u_, u, block, blocks, samples);
    if constexpr (has_pregate) {
      float gates[2][4];
      apply(pregate_, pregate, block, blocks, gates);
      DANAUS_UNROLL
      for (int i = 0; i < 8; ++i) samples[i / 4][i % 4] *= gates[i / 4][i % 4];
      device::count_fp32(8);
    }
    device::sync_warp();
    u.template store<T>(block, samples);
  }
  template <class Row>
  static DANAUS_DEVICE void apply(const ShortFilter<T>& filter, const Row& row, int block, const FilteredBlocks& blocks,
                                  float (&samples)[2][4]) {
    u32 windows[2][4];
    row.load(block, blocks, windows);
    DANAUS_UNROLL
    for (int i = 0; i < 2; ++i) filter.apply(windows[i], samples[i]);
  }

  int channel_ = -1;
  ShortFilter<T> u_, pregate_, postgate_;
};

}  // namespace danaus::inline DANAUS_BACKEND
