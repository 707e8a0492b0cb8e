// Moves parts of rows between global memory and streams (stream_layout.hpp) in shared memory: rows [B, H, L] by a warp,
// one channel's; rows [B, L, H] by a block, channels by eight, transposed on the way.
#pragma once

#include "kernels/memory/rows.hpp"
#include "kernels/memory/stream_layout.hpp"

namespace danaus::inline DANAUS_BACKEND {

DANAUS_DEVICE bool is_outside(const RowPlace& row, int n) { return n + 8 <= row.first || n >= row.last; }

// The 8 samples of a row from n on, zero where it has none, times a gate where that is not null.
template <Dtype T>
DANAUS_DEVICE Words<4> load_gated(const void* rows, const void* gate, const RowPlace& row, int n, Transfer transfer) {
  if (is_outside(row, n)) return {};
  const Words<4> words = load_chunk(rows, row, n, transfer);
  return gate ? gated<T>(words, load_chunk(gate, row, n, transfer)) : words;
}

// Whether the row has so many samples from n on, in pieces of 16 bytes.
DANAUS_DEVICE bool has_pieces(const RowPlace& row, int n, int count, Transfer transfer) {
  return transfer != Transfer::element && n >= row.first && n + count <= row.last;
}

// Sample `n` of the row, a multiple of 8, becomes the stream's first; times a gate where that is not null. A warp's. It
// completes by copy_async_wait and the warp's barrier.
template <Dtype T>
DANAUS_DEVICE void load_stream(const void* rows, const void* gate, const RowPlace& row, int n, Transfer transfer,
                               const StreamLayout& layout, SharedAddress to) {
  const int chunks = layout.chunks();
  if (!gate && has_pieces(row, n, 8 * chunks, transfer)) {
    const auto* from = static_cast<const std::uint16_t*>(rows) + row.begin + n;
    DANAUS_UNROLL_BY(4)
    for (int c = device::lane_index(); c < chunks; c += 32) device::copy_async(to + layout.place(c), from + 8 * c, 16);
    return device::copy_async_commit();
  }
  DANAUS_UNROLL_BY(4)
  for (int c = device::lane_index(); c < chunks; c += 32) {
    const int at = n + 8 * c;
    const SharedAddress place = to + layout.place(c);
    if (!gate && has_pieces(row, at, 8, transfer))
      device::copy_async(place, static_cast<const std::uint16_t*>(rows) + row.begin + at, 16);
    else
      device::store_shared<16>(place, load_gated<T>(rows, gate, row, at, transfer));
  }
  device::copy_async_commit();
}

// The lines of a stream become the row's samples from n on, times a gate where that is not null. A warp's.
template <Dtype T>
DANAUS_DEVICE void store_stream(void* rows, const void* gate, const RowPlace& row, int n, Transfer transfer,
                                const StreamLayout& layout, SharedAddress from) {
  const int chunks = layout.samples() / 8;
  if (!gate && has_pieces(row, n, 8 * chunks, transfer)) {
    auto* to = static_cast<std::uint16_t*>(rows) + row.begin + n;
    DANAUS_UNROLL_BY(4)
    for (int c = device::lane_index(); c < chunks; c += 32)
      device::store_global<16>(to + 8 * c, device::load_shared<16>(from + layout.place(c + 4 * layout.halo)));
    return;
  }
  DANAUS_UNROLL_BY(4)
  for (int c = device::lane_index(); c < chunks; c += 32) {
    if (is_outside(row, n + 8 * c)) continue;
    Words<4> words = device::load_shared<16>(from + layout.place(c + 4 * layout.halo));
    if (gate) words = gated<T>(words, load_chunk(gate, row, n + 8 * c, transfer));
    store_chunk(rows, row, n + 8 * c, transfer, words);
  }
}

// Channels last. Where samples are: those of channels `channel` on, of batch row `row`.
struct ColumnPlace {
  long long begin;  // of the batch row
  int channel, channels, length;
};

// The channels of sample n as a row, none where there is no such sample.
DANAUS_DEVICE RowPlace channels_of(const ColumnPlace& at, int n) {
  return {at.begin + static_cast<long long>(n) * at.channels, 0, n >= 0 && n < at.length ? at.channels : 0};
}

// Streams of 8 groups of channels stand one after the other. Those that a warp writes at once, of neighbouring groups
// at the same sample, would be in one bank.
template <int groups>
DANAUS_DEVICE int turn_of(int group) {
  return 16 * (group * (8 / groups) & 7);
}

// Two samples of eight channels, and of each channel two samples.
DANAUS_DEVICE void transpose_pairs(const Words<4>& first, const Words<4>& second, u32 (&pairs)[8]) {
  DANAUS_UNROLL
  for (int i = 0; i < 4; ++i) {
    pairs[2 * i] = device::permute_bytes(first[i], second[i], 0x5410);
    pairs[2 * i + 1] = device::permute_bytes(first[i], second[i], 0x7632);
  }
}

// Streams of 8 `groups` channels that begin with sample n, by the whole block. They are there after its barrier.
template <Dtype T, int groups, int threads>
DANAUS_DEVICE void load_streams(const void* columns, const void* gate, const ColumnPlace& at, int n, Transfer transfer,
                                const StreamLayout& layout, SharedAddress to) {
  const int group = device::thread_index() % groups, channel = at.channel + 8 * group;
  const SharedAddress streams = to + 8 * group * layout.bytes();
  DANAUS_UNROLL_BY(2)
  for (int pair = device::thread_index() / groups; pair < 4 * layout.chunks(); pair += threads / groups) {
    u32 pairs[8];
    transpose_pairs(load_gated<T>(columns, gate, channels_of(at, n + 2 * pair), channel, transfer),
                    load_gated<T>(columns, gate, channels_of(at, n + 2 * pair + 1), channel, transfer), pairs);
    const int place = (layout.place(pair / 4) ^ turn_of<groups>(group)) + 4 * (pair % 4);
    DANAUS_UNROLL
    for (int i = 0; i < 8; ++i) device::store_shared<4>(streams + i * layout.bytes() + place, {pairs[i]});
  }
}

// And back, from sample n on.
template <Dtype T, int groups, int threads>
DANAUS_DEVICE void store_streams(void* columns, const void* gate, const ColumnPlace& at, int n, Transfer transfer,
                                 const StreamLayout& layout, SharedAddress from) {
  const int group = device::thread_index() % groups, channel = at.channel + 8 * group;
  const SharedAddress streams = from + 8 * group * layout.bytes();
  if (channel >= at.channels) return;
  DANAUS_UNROLL_BY(2)
  for (int pair = device::thread_index() / groups; pair < layout.samples() / 2; pair += threads / groups) {
    if (n + 2 * pair >= at.length) break;
    const int place = (layout.place(pair / 4 + 4 * layout.halo) ^ turn_of<groups>(group)) + 4 * (pair % 4);
    u32 pairs[8];
    DANAUS_UNROLL
    for (int i = 0; i < 8; ++i) pairs[i] = device::load_shared<4>(streams + i * layout.bytes() + place)[0];
    DANAUS_UNROLL
    for (int odd = 0; odd < 2; ++odd) {
      const RowPlace place_of = channels_of(at, n + 2 * pair + odd);
      if (place_of.last == 0) continue;
      Words<4> words;
      DANAUS_UNROLL
      for (int i = 0; i < 4; ++i)
        words[i] = device::permute_bytes(pairs[2 * i], pairs[2 * i + 1], odd ? 0x7632 : 0x5410);
      if (gate) words = gated<T>(words, load_chunk(gate, place_of, channel, transfer));
      store_chunk(columns, place_of, channel, transfer, words);
    }
  }
}

}  // namespace danaus::inline DANAUS_BACKEND
