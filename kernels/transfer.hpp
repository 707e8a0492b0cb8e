// Moves rows between global memory and the slabs of shared memory that a fused kernel computes in.
//
// A slab holds a part of the rows of one item: two batch rows for the pair fold; one row for the right angle, and room
// for its imaginary part, there or elsewhere. Slabs form a ring: slab number s lives at place s mod ring, and is loaded
// again when the stores from its place have been read. `Worker` says who shares the ring (a warp or a block):
//   kThreads             threads that take part         index()   number of this thread among them
// `Shape` says what a slab is:
//   kSlabs, kRowBytes    slabs an item; bytes of one row in a slab
//   sample_of(chunk)     first sample (before adding slab offset) of 16-byte chunk number `chunk` of a row's slab
//   locate(chunk of a row)     its slab and its number there
//   kSlabOffset          samples between the same chunk of successive slabs
//   tensor_at(...)       coordinates for tensor copies
//   kCache               what L2 should do with the rows
#pragma once

#include "kernels/arguments.hpp"
#include "kernels/tile/tile.hpp"

namespace danaus::inline DANAUS_BACKEND {

// Where the rows of an item begin: channel h, rows b and, for the pair fold, b + 1. Items are numbered along the batch,
// then along the channels.
struct Item {
  int channel, row;
};

// Items of a channel.
template <class Shape>
DANAUS_DEVICE int groups_of_rows(const FusedArguments& a) {
  return Shape::kPair ? (a.batch + 1) / 2 : a.batch;
}

template <class Shape>
DANAUS_DEVICE Item item_at(const FusedArguments& a, int number) {
  const int groups = groups_of_rows<Shape>(a);
  return {number / groups, (Shape::kPair ? 2 : 1) * (number % groups)};
}

// The next item.
template <class Shape>
DANAUS_DEVICE void advance(const FusedArguments& a, Item& item) {
  item.row += Shape::kPair ? 2 : 1;
  if (item.row >= a.batch) item.row = 0, ++item.channel;
}

// Items number first to first + count - 1 are those of one block or warp.
struct ItemRange {
  int first, count;
};

// Of share number `share` of `shares` even ones of the items from `begin` on.
DANAUS_DEVICE ItemRange even_share(long long begin, long long items, int share, int shares) {
  const long long first = items * share / shares;
  return {static_cast<int>(begin + first), static_cast<int>(items * (share + 1) / shares - first)};
}

// The first a.whole_channels blocks of a launch take a channel each, and the others share what is left.
template <class Shape>
DANAUS_DEVICE ItemRange items_of_block(const FusedArguments& a) {
  const int block = device::block_index(), whole = a.whole_channels, groups = groups_of_rows<Shape>(a);
  if (block < whole) return {block * groups, groups};
  const long long begin = static_cast<long long>(whole) * groups, items = static_cast<long long>(a.channels) * groups;
  return even_share(begin, items - begin, block - whole, device::block_count() - whole);
}

template <class Shape>
DANAUS_DEVICE long long row_offset(const FusedArguments& a, int row, int channel) {
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
DANAUS_DEVICE void fetch_slab(const FusedArguments& a, bool tensor, const TensorMap& map, const void* rows, Item item,
                              int slab, SharedAddress to, SharedAddress barrier) {
  constexpr int kRows = Shape::kPair ? 2 : 1;
  if (tensor) {  // called by one thread
    int at[5];
    Shape::tensor_at(item, slab, at);
    device::tensor_load(to, map, at, barrier, Shape::kCache);
    return;
  }
  for (int i = Worker::index(); i < kRows * Shape::kChunks; i += Worker::kThreads) {
    const int row = item.row + i / Shape::kChunks, chunk = i % Shape::kChunks;
    const int n = Shape::sample_of(chunk) + slab * Shape::kSlabOffset;
    const int present = row < a.batch ? min(max(a.length - n, 0), 8) : 0;
    const SharedAddress place = swizzled(to + i / Shape::kChunks * Shape::kRowBytes + 16 * chunk);
    const long long begin = row_offset<Shape>(a, row, item.channel);
    if (a.transfer == Transfer::vector)
      device::copy_async(place, static_cast<const std::uint16_t*>(rows) + (present > 0 ? begin + n : 0), 2 * present);
    else
      device::store_shared<16>(place, present > 0 ? load_chunk(rows, begin, n, a.length, a.transfer) : Words<4>{});
  }
}

// Multiplies the item's slabs, in place, by a gate. For the whole worker: `ready` returns when the slabs are, with the
// first of the gate already on its way, and the worker synchronises afterwards.
template <class Shape, class Worker, class SlabAt, class Ready>
DANAUS_DEVICE void gate_slabs(const FusedArguments& a, bool tensor, const void* gate, Item item, SlabAt slab_at,
                              Ready ready) {
  constexpr int kRows = Shape::kPair ? 2 : 1, kSlabChunks = kRows * Shape::kChunks;
  constexpr int kAll = (Shape::kSlabs * kSlabChunks + Worker::kThreads - 1) / Worker::kThreads;
  constexpr int kBatch = kAll <= 8 ? kAll : kAll % 8 == 0 ? 8 : kAll % 6 == 0 ? 6 : 4;  // words in flight
  static_assert(kSlabChunks % Worker::kThreads == 0 && kAll % kBatch == 0);
  DANAUS_UNROLL
  for (int first = 0; first < kAll; first += kBatch) {
    Words<4> words[kBatch];
    DANAUS_UNROLL
    for (int j = 0; j < kBatch; ++j) {
      const int number = Worker::index() + (first + j) * Worker::kThreads, i = number % kSlabChunks;
      const int row = item.row + i / Shape::kChunks;
      const int n = Shape::sample_of(i % Shape::kChunks) + number / kSlabChunks * Shape::kSlabOffset;
      const long long begin = row_offset<Shape>(a, row, item.channel);
      words[j] = Words<4>{};
      if (row < a.batch && n < a.length)
        words[j] = tensor ? device::load_global_once<Shape::kCache>(static_cast<const std::uint16_t*>(gate) + begin + n)
                          : load_chunk(gate, begin, n, a.length, a.transfer);
    }
    if (first == 0) ready();
    DANAUS_UNROLL
    for (int j = 0; j < kBatch; ++j) {
      const int number = Worker::index() + (first + j) * Worker::kThreads, i = number % kSlabChunks;
      const SharedAddress place =
          swizzled(slab_at(number / kSlabChunks) + i / Shape::kChunks * Shape::kRowBytes + 16 * (i % Shape::kChunks));
      Words<4> samples = device::load_shared<16>(place);
      DANAUS_UNROLL
      for (int m = 0; m < 4; ++m) samples[m] = device::mul2<Shape::kType>(samples[m], words[j][m]);
      device::store_shared<16>(place, samples);
    }
  }
}

// Stores the item's slab from `from`. The caller has fenced and synchronised; the place is free again after
// store_wait_read and the worker's barrier.
template <class Shape, class Worker>
DANAUS_DEVICE void store_slab(const FusedArguments& a, bool tensor, Item item, int slab, SharedAddress from) {
  constexpr int kRows = Shape::kPair ? 2 : 1;
  if (tensor) {
    int at[5];
    Shape::tensor_at(item, slab, at);
    device::tensor_store(a.y_map, at, from, Shape::kCache);
    device::store_commit();
    return;
  }
  for (int i = Worker::index(); i < kRows * Shape::kChunks; i += Worker::kThreads) {
    const int row = item.row + i / Shape::kChunks, chunk = i % Shape::kChunks;
    const int n = Shape::sample_of(chunk) + slab * Shape::kSlabOffset;
    if (row >= a.batch || n >= a.length) continue;
    const SharedAddress place = swizzled(from + i / Shape::kChunks * Shape::kRowBytes + 16 * chunk);
    store_chunk(a.y, row_offset<Shape>(a, row, item.channel), n, a.length, a.transfer, device::load_shared<16>(place));
  }
}

// Right angle with wrap: row 0 of the slabs is lo, row 1 is hi, sample n + N of the linear convolution being hi[n].
// row_at(s, row) gives the place of that row of slab s.
template <class Shape, class Worker, Dtype T, class RowAt>
DANAUS_DEVICE void store_wrapped(const FusedArguments& a, Item item, RowAt row_at) {
  const auto sample = [&](int n) {
    const int row = n >= Shape::kSize, m = n - row * Shape::kSize;
    int slab, chunk;
    Shape::locate(m / 8, slab, chunk);
    return device::load_shared<2>(swizzled(row_at(slab, row) + 16 * chunk) + 2 * (m % 8))[0];
  };
  const long long begin = row_offset<Shape>(a, item.row, item.channel);
  for (int n = Worker::index(); n < a.length; n += Worker::kThreads) {
    u32 value = sample(n);
    if (n + a.length < 2 * Shape::kSize) value = device::add2<T>(value, sample(n + a.length));
    if (a.postgate)
      value =
          device::mul2<T>(value, device::load_global<2>(static_cast<const std::uint16_t*>(a.postgate) + begin + n)[0]);
    device::store_global<2>(static_cast<std::uint16_t*>(a.y) + begin + n, {value & 0xffff});
  }
}

}  // namespace danaus::inline DANAUS_BACKEND
