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

  // The filtered samples of 16 chunks, whose words load_window() gave: of chunk lane / 4 two in 0 and 1, of the eighth
  // from that two in 2 and 3.
  DANAUS_DEVICE void apply(const Words<4>& window, float (&samples)[4]) const {
    const u32 a[4] = {window[0], window[1], window[2], window[3]};
    DANAUS_UNROLL
    for (float& sample : samples) sample = bias_;
    device::mma_f32acc<T>(samples, a, low_);
    device::mma_f32acc<T>(samples, a, high_);
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
// blocks, zero where the row begins with them.
template <class ChunkAt>
struct FilteredRow {
  ChunkAt chunk_at;
  u32 before = 0;

  DANAUS_DEVICE FilteredRow(const FilteredBlocks& blocks, bool present, ChunkAt at) : chunk_at(at) {
    const int lane = device::lane_index();
    if (present && blocks.first > 0 && lane < 4)
      before = device::load_shared<4>(chunk_at(16 * blocks.first - 1) + 4 * lane)[0];
  }
  // The chunks of a block, each behind the one before it.
  DANAUS_DEVICE Words<4> window(int block, const FilteredBlocks& blocks) const {
    const int lane = device::lane_index(), matrix = lane / 8;
    const int chunk = 16 * block + 8 * (matrix % 2) + lane % 8 - (matrix < 2);
    Words<4> words = device::load_matrices<4, false>(chunk_at(max(chunk, 16 * blocks.first)));
    if (block == blocks.first && lane < 4) words[0] = before;
    return words;
  }
  // What apply() gave, rounded, over the block.
  template <Dtype T>
  DANAUS_DEVICE void store(int block, const float (&samples)[4]) const {
    device::store_matrices<2, false>(
        chunk_at(16 * block + device::lane_index() % 16),
        {device::pack2<T>(samples[0], samples[1]), device::pack2<T>(samples[2], samples[3])});
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
      DANAUS_UNROLL
      for (int i = 0; i < 2; ++i) postgate_.apply(postgate.window(block + i, blocks), samples[i]);
      device::sync_warp();  // lanes write what others have read
      DANAUS_UNROLL
      for (int i = 0; i < 2; ++i) postgate.template store<T>(block + i, samples[i]);
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
    float samples[2][4], gates[2][4];
    DANAUS_UNROLL
    for (int i = 0; i < 2; ++i) {
      u_.apply(u.window(block + i, blocks), samples[i]);
      if constexpr (has_pregate) pregate_.apply(pregate.window(block + i, blocks), gates[i]);
    }
    if constexpr (has_pregate) {
      DANAUS_UNROLL
      for (int i = 0; i < 8; ++i) samples[i / 4][i % 4] *= gates[i / 4][i % 4];
      device::count_fp32(8);
    }
    device::sync_warp();
    DANAUS_UNROLL
    for (int i = 0; i < 2; ++i) u.template store<T>(block + i, samples[i]);
  }

  int channel_ = -1;
  ShortFilter<T> u_, pregate_, postgate_;
};

}  // namespace danaus::inline DANAUS_BACKEND
