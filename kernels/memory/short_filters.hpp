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

// Blocks of 16 chunks that a warp filters, from the last one to the first, so that what a block reads of the one before
// is as it came. What stands before `first`, other warps may write: it is read beforehand (chunk_before()).
struct FilteredBlocks {
  int first, last;
};

// A lane's word of the chunk before the blocks; zero where the row begins with them.
template <class ChunkAt>
DANAUS_DEVICE u32 chunk_before(const FilteredBlocks& blocks, ChunkAt chunk_at) {
  const int lane = device::lane_index();
  if (blocks.first == 0 || lane >= 4) return 0;
  return device::load_shared<4>(chunk_at(16 * blocks.first - 1) + 4 * lane)[0];
}

// Chunks 16 block to 16 block + 15 of a row, each behind the one before it; chunk_at(number) is where a chunk is.
template <class ChunkAt>
DANAUS_DEVICE Words<4> load_window(int block, const FilteredBlocks& blocks, u32 before, ChunkAt chunk_at) {
  const int lane = device::lane_index(), matrix = lane / 8;
  const int chunk = 16 * block + 8 * (matrix % 2) + lane % 8 - (matrix < 2);
  Words<4> words = device::load_matrices<4, false>(chunk_at(max(chunk, 16 * blocks.first)));
  if (block == blocks.first && lane < 4) words[0] = before;
  return words;
}

// Rounds what apply() gave, zeros from sample `length` on, and stores it over the chunks.
template <Dtype T, class ChunkAt>
DANAUS_DEVICE void store_window(int block, int length, const float (&samples)[4], ChunkAt chunk_at) {
  const int lane = device::lane_index();
  Words<2> words = {device::pack2<T>(samples[0], samples[1]), device::pack2<T>(samples[2], samples[3])};
  if (128 * (block + 1) > length) {
    DANAUS_UNROLL
    for (int i = 0; i < 2; ++i) {
      const int n = 128 * block + 64 * i + 8 * (lane / 4) + 2 * (lane % 4);
      words[i] &= n + 1 < length ? ~0u : n < length ? 0xffffu : 0u;
    }
  }
  device::store_matrices<2, false>(chunk_at(16 * block + lane % 16), words);
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

  // A part's chunks in shared memory, and what stands before the blocks.
  template <class ChunkAt>
  struct Part {
    ChunkAt chunk_at;
    u32 before;
  };
  template <class ChunkAt>
  static DANAUS_DEVICE Part<ChunkAt> part(const FilteredBlocks& blocks, bool present, ChunkAt chunk_at) {
    return {chunk_at, present ? chunk_before(blocks, chunk_at) : 0};
  }

  // u times the pregate, each filtered, over u.
  template <class OfU, class OfPregate>
  DANAUS_DEVICE void filter(const FilteredArguments& a, int block, const FilteredBlocks& blocks, const OfU& u,
                            const OfPregate& pregate) const {
    float samples[4];
    u_.apply(load_window(block, blocks, u.before, u.chunk_at), samples);
    if (a.pregate) {
      float gate[4];
      pregate_.apply(load_window(block, blocks, pregate.before, pregate.chunk_at), gate);
      DANAUS_UNROLL
      for (int i = 0; i < 4; ++i) samples[i] *= gate[i];
      device::count_fp32(4);
    }
    device::sync_warp();  // lanes write what others have read
    store_window<T>(block, a.length, samples, u.chunk_at);
  }
  // The postgate over itself.
  template <class OfPostgate>
  DANAUS_DEVICE void filter_postgate(const FilteredArguments& a, int block, const FilteredBlocks& blocks,
                                     const OfPostgate& postgate) const {
    float gate[4];
    postgate_.apply(load_window(block, blocks, postgate.before, postgate.chunk_at), gate);
    device::sync_warp();
    store_window<T>(block, a.length, gate, postgate.chunk_at);
  }

 private:
  int channel_ = -1;
  ShortFilter<T> u_, pregate_, postgate_;
};

}  // namespace danaus::inline DANAUS_BACKEND
