// Moves rows between global memory and the slabs of shared memory that a kernel computes in.
//
// A slab holds a part of the rows of one item: two batch rows for the pair fold; one row for the right angle, and room
// for its imaginary part, there or elsewhere. Slabs form a ring: slab number s lives at place s mod ring, and is loaded
// again when the stores from its place have been read. `Worker` says who shares the ring (a warp or a block):
//   kThreads             threads that take part         index()   number of this thread among them
// `Shape` says what a slab is:
//   layout               a RowLayout
//   sample_of(chunk)     first sample (before adding slab offset) of 16-byte chunk number `chunk` of a row's slab
//   locate(chunk of a row)     its slab and its number there
//   tensor_at(...)       coordinates for tensor copies
#pragma once

#include "kernels/device/operations.hpp"
#include "kernels/memory/arguments.hpp"
#include "kernels/memory/layout.hpp"
#include "kernels/tile/tile.hpp"

namespace danaus::inline DANAUS_BACKEND {

// Where the rows of an item begin: channel h, rows b and, for the pair fold, b + 1. Items are numbered along the batch,
// then along the channels.
struct Item {
  int channel, row;
};

template <class Shape>
DANAUS_DEVICE Item item_at(const ConvolutionArguments& a, int number) {
  const int of_channel = a.division.items_of_channel;
  return {number / of_channel, Shape::layout.item_rows * (number % of_channel)};
}

// The next item.
template <class Shape>
DANAUS_DEVICE void advance(const ConvolutionArguments& a, Item& item) {
  item.row += Shape::layout.item_rows;
  if (item.row >= a.batch) item.row = 0, ++item.channel;
}

template <class Shape>
DANAUS_DEVICE long long row_offset(const ConvolutionArguments& a, int row, int channel) {
  return (static_cast<long long>(row) * a.channels + channel) * a.length;
}

// The 8 samples from n on, zero beyond the row's end.
DANAUS_DEVICE Words<4> load_chunk(const void* rows, long long row_begin, int n, int length, Transfer transfer) {
  const auto* at = static_cast<const std::uint16_t*>(rows) + row_begin + n;
  if (transfer != Transfer::element && n + 8 <= length) return device::load_global<16>(at);
  Words<4> words;
  DANAUS_UNROLL
  for (int i = 0; i < 4; ++i) {
    const u32 low = n + 2 * i < length ? device::load_global<2>(at + 2 * i)[0] : 0;
    const u32 high = n + 2 * i + 1 < length ? device::load_global<2>(at + 2 * i + 1)[0] : 0;
    words[i] = low | high << 16;
  }
  return words;
}

DANAUS_DEVICE void store_chunk(void* rows, long long row_begin, int n, int length, Transfer transfer, Words<4> words) {
  auto* at = static_cast<std::uint16_t*>(rows) + row_begin + n;
  if (transfer != Transfer::element && n + 8 <= length) return device::store_global<16>(at, words);
  DANAUS_UNROLL
  for (int i = 0; i < 8; ++i)
    if (n + i < length) device::store_global<2>(at + i, {words[i / 2] >> (16 * (i % 2))});
}

// Begins to load slab `slab` of the item into `to`. Transfer::tensor is for one thread to call and completes on
// `barrier`; the others are for the whole worker and complete by copy_async_wait and the worker's barrier.
template <class Shape, class Worker>
DANAUS_DEVICE void fetch_slab(const ConvolutionArguments& a, bool tensor, const TensorMap& map, const void* rows,
                              Item item, int slab, SharedAddress to, SharedAddress barrier) {
  constexpr auto layout = Shape::layout;
  if (tensor) {  // called by one thread
    int at[5];
    Shape::tensor_at(item, slab, at);
    device::tensor_load(to, map, at, barrier, layout.rows);
    return;
  }
  for (int i = Worker::index(); i < layout.item_rows * layout.row_chunks; i += Worker::kThreads) {
    const int row = item.row + i / layout.row_chunks, chunk = i % layout.row_chunks;
    const int n = Shape::sample_of(chunk) + slab * layout.slab_offset;
    const int present = row < a.batch ? min(max(a.length - n, 0), 8) : 0;
    const SharedAddress place = swizzled(to + i / layout.row_chunks * layout.row_bytes + 16 * chunk);
    const long long begin = row_offset<Shape>(a, row, item.channel);
    if (a.transfer == Transfer::vector)
      device::copy_async(place, static_cast<const std::uint16_t*>(rows) + (present > 0 ? begin + n : 0), 2 * present);
    else
      device::store_shared<16>(place, present > 0 ? load_chunk(rows, begin, n, a.length, a.transfer) : Words<4>{});
  }
}

// Stores the item's slab from `from`. The caller has fenced and synchronised; the place is free again after
// store_wait_read and the worker's barrier.
template <class Shape, class Worker>
DANAUS_DEVICE void store_slab(const ConvolutionArguments& a, bool tensor, Item item, int slab, SharedAddress from) {
  constexpr auto layout = Shape::layout;
  if (tensor) {
    int at[5];
    Shape::tensor_at(item, slab, at);
    device::tensor_store(a.y_map, at, from, layout.rows);
    device::store_commit();
    return;
  }
  for (int i = Worker::index(); i < layout.item_rows * layout.row_chunks; i += Worker::kThreads) {
    const int row = item.row + i / layout.row_chunks, chunk = i % layout.row_chunks;
    const int n = Shape::sample_of(chunk) + slab * layout.slab_offset;
    if (row >= a.batch || n >= a.length) continue;
    const SharedAddress place = swizzled(from + i / layout.row_chunks * layout.row_bytes + 16 * chunk);
    store_chunk(a.y, row_offset<Shape>(a, row, item.channel), n, a.length, a.transfer, device::load_shared<16>(place));
  }
}

// Right angle with wrap: row 0 of the slabs is lo, row 1 is hi, sample n + N of the linear convolution being hi[n].
// row_at(s, row) gives the place of that row of slab s.
template <class Shape, class Worker, Dtype T, class RowAt>
DANAUS_DEVICE void store_wrapped(const ConvolutionArguments& a, Item item, RowAt row_at) {
  const auto sample = [&](int n) {
    const int row = n >= Shape::layout.size, m = n - row * Shape::layout.size;
    int slab, chunk;
    Shape::locate(m / 8, slab, chunk);
    return device::load_shared<2>(swizzled(row_at(slab, row) + 16 * chunk) + 2 * (m % 8))[0];
  };
  const long long begin = row_offset<Shape>(a, item.row, item.channel);
  for (int n = Worker::index(); n < a.length; n += Worker::kThreads) {
    u32 value = sample(n);
    if (n + a.length < 2 * Shape::layout.size) value = device::add2<T>(value, sample(n + a.length));
    if (a.postgate)
      value =
          device::mul2<T>(value, device::load_global<2>(static_cast<const std::uint16_t*>(a.postgate) + begin + n)[0]);
    device::store_global<2>(static_cast<std::uint16_t*>(a.y) + begin + n, {value & 0xffff});
  }
}

}  // namespace danaus::inline DANAUS_BACKEND
