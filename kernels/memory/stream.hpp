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

// Streams of 8 `groups` channels stand one after the other. What a warp moves at a time of them, a chunk each of eight
// streams, would be in one bank: chunk c of a channel is stored as chunk c ^ turn too, in bytes.
template <int groups>
DANAUS_DEVICE int turn_of(int channel) {
  constexpr int kWide = groups < 4 ? groups : 4;
  return 16 * (channel % 2 * (4 / kWide) + channel / 8 % kWide * (8 / kWide & 7));
}

// What a warp moves of streams of channels at once: 16 bytes a lane, of eight channels of a sample. As fragments of
// matrices, one for each two of the eight channels, a lane's four words are those that ldmatrix.trans reads and
// stmatrix.trans writes of chunks of eight samples.
template <int groups>
struct ColumnPiece {
  static constexpr int kWide = groups < 4 ? groups : 4;  // groups of channels,
  static constexpr int kChunks = 4 / kWide;              // chunks of samples
  int sample, group;                                     // of the lane's 16 bytes
  SharedAddress row;                                     // of the lane's matrix row: its stream
  int chunk, turn;

  DANAUS_DEVICE explicit ColumnPiece(int stream_bytes) {
    const int lane = device::lane_index(), column = lane % 8 / 2;
    sample = 8 * (lane % 4 / kWide) + lane / 4, group = lane % 4 % kWide;
    const int channel = 8 * (column % kWide) + 2 * (lane / 8) + lane % 2;
    row = channel * stream_bytes, chunk = column / kWide, turn = turn_of<groups>(channel);
  }
};

// The channels of a sample that is there, of eight from `channel` on; zero where there is none.
DANAUS_DEVICE Words<4> load_channels(const void* columns, const ColumnPlace& at, int n, int channel,
                                     Transfer transfer) {
  if (transfer == Transfer::element) {
    const RowPlace place = channels_of(at, n);
    return is_outside(place, channel) ? Words<4>{} : load_chunk(columns, place, channel, transfer);
  }
  if (static_cast<u32>(n) >= static_cast<u32>(at.length) || channel >= at.channels) return {};
  return device::load_global<16>(static_cast<const std::uint16_t*>(columns) + at.begin +
                                 static_cast<long long>(n) * at.channels + channel);
}

// And back, of a sample that is there.
DANAUS_DEVICE void store_channels(void* columns, const ColumnPlace& at, int n, int channel, Transfer transfer,
                                  Words<4> words) {
  if (transfer == Transfer::element) return store_chunk(columns, channels_of(at, n), channel, transfer, words);
  device::store_global<16>(
      static_cast<std::uint16_t*>(columns) + at.begin + static_cast<long long>(n) * at.channels + channel, words);
}

template <Dtype T, int groups, int threads, int at_once>
DANAUS_DEVICE void load_streams_by(const void* columns, const void* gate, const ColumnPlace& at, int n,
                                   Transfer transfer, const StreamLayout& layout, SharedAddress to) {
  using Piece = ColumnPiece<groups>;
  constexpr int kParts = groups / Piece::kWide, kWarps = threads / 32;
  const Piece piece(layout.bytes());
  const int count = layout.chunks() / Piece::kChunks * kParts;
  const auto load = [&](const void* from, int i) {
    return load_channels(from, at, n + 8 * Piece::kChunks * (i / kParts) + piece.sample,
                         at.channel + 8 * (Piece::kWide * (i % kParts) + piece.group), transfer);
  };
  DANAUS_UNROLL_BY(1)
  for (int first = device::warp_index(); first < count; first += at_once * kWarps) {
    Words<4> words[at_once];
    DANAUS_UNROLL
    for (int k = 0; k < at_once; ++k)
      if (const int i = first + k * kWarps; i < count) words[k] = load(columns, i);
    if (gate) DANAUS_UNROLL
    for (int k = 0; k < at_once; ++k)
      if (const int i = first + k * kWarps; i < count) words[k] = gated<T>(words[k], load(gate, i));
    DANAUS_UNROLL
    for (int k = 0; k < at_once; ++k)
      if (const int i = first + k * kWarps; i < count)
        device::store_matrices<4, true>(to + piece.row + 8 * Piece::kWide * (i % kParts) * layout.bytes() +
                                            (layout.place(Piece::kChunks * (i / kParts) + piece.chunk) ^ piece.turn),
                                        words[k]);
  }
}
// Streams of 8 `groups` channels that begin with sample n, by the whole block; `at_once` pieces of a lane are under
// way. They are there after its barrier.
template <Dtype T, int groups, int threads, int at_once>
DANAUS_DEVICE void load_streams(const void* columns, const void* gate, const ColumnPlace& at, int n, Transfer transfer,
                                const StreamLayout& layout, SharedAddress to) {
  if (transfer == Transfer::element)
    load_streams_by<T, groups, threads, 1>(columns, gate, at, n, Transfer::element, layout, to);
  else
    load_streams_by<T, groups, threads, at_once>(columns, gate, at, n, Transfer::vector, layout, to);
}

// And back, from sample n on.
template <Dtype T, int groups, int threads>
DANAUS_DEVICE void store_streams(void* columns, const void* gate, const ColumnPlace& at, int n, Transfer transfer,
                                 const StreamLayout& layout, SharedAddress from) {
  using Piece = ColumnPiece<groups>;
  constexpr int kParts = groups / Piece::kWide, kWarps = threads / 32;
  const Piece piece(layout.bytes());
  DANAUS_UNROLL_BY(4)
  for (int i = device::warp_index(); i < layout.samples() / 8 / Piece::kChunks * kParts; i += kWarps) {
    if (n + 8 * Piece::kChunks * (i / kParts) >= at.length) break;
    Words<4> words = device::load_matrices<4, true>(
        from + piece.row + 8 * Piece::kWide * (i % kParts) * layout.bytes() +
        (layout.place(Piece::kChunks * (i / kParts) + piece.chunk + 4 * layout.halo) ^ piece.turn));
    const int sample = n + 8 * Piece::kChunks * (i / kParts) + piece.sample;
    const int channel = at.channel + 8 * (Piece::kWide * (i % kParts) + piece.group);
    const RowPlace place = channels_of(at, sample);
    if (!is_outside(place, channel)) {
      if (gate) words = gated<T>(words, load_channels(gate, at, sample, channel, transfer));
      store_chunk(columns, place, channel, transfer, words);
    }
  }
}

}  // namespace danaus::inline DANAUS_BACKEND
