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

// A row as threads see it: samples `first` to `last` - 1 from `begin` on, where an address is aligned or Transfer is
// element. With Transfer::enclosing what a row is computed as begins up to 7 samples before it: a convolution does not
// mind being shifted.
struct RowPlace {
  long long begin;
  int first, last;
};

template <class Shape>
DANAUS_DEVICE RowPlace row_place(const ConvolutionArguments& a, int row, int channel) {
  const long long offset = row_offset<Shape>(a, row, channel);
  if (a.transfer != Transfer::enclosing) return {offset, 0, a.length};
  const int before = static_cast<int>(a.shift + offset) & 7;
  return {offset - before, before, before + a.length};
}

// Of the 8 samples from n on, a multiple of 8, those that are the row's, the others zero. Most chunks are whole: what
// it takes to cut one stands behind a branch for each end.
DANAUS_DEVICE Words<4> within(const RowPlace& row, int n, Words<4> words) {
  const int present = row.last - n;
  if (present < 8) {
    DANAUS_UNROLL
    for (int i = 0; i < 4; ++i)
      words[i] = present >= 2 * i + 2 ? words[i] : present == 2 * i + 1 ? words[i] & 0xffff : 0;
  }
  if (n < row.first) {  // which is less than 8
    DANAUS_UNROLL
    for (int i = 0; i < 4; ++i)
      words[i] = row.first <= 2 * i ? words[i] : row.first == 2 * i + 1 ? words[i] & 0xffff0000 : 0;
  }
  return words;
}

// The 8 samples from n on, zero where the row has none.
DANAUS_DEVICE Words<4> load_chunk(const void* rows, const RowPlace& row, int n, Transfer transfer) {
  const auto* at = static_cast<const std::uint16_t*>(rows) + row.begin + n;
  if (transfer != Transfer::element && n >= row.first && n + 8 <= row.last) return device::load_global<16>(at);
  const auto sample = [&](int i) -> u32 {
    return n + i >= row.first && n + i < row.last ? device::load_global<2>(at + i)[0] : 0;
  };
  Words<4> words;
  DANAUS_UNROLL
  for (int i = 0; i < 4; ++i) words[i] = sample(2 * i) | sample(2 * i + 1) << 16;
  return words;
}

DANAUS_DEVICE void store_chunk(void* rows, const RowPlace& row, int n, Transfer transfer, Words<4> words) {
  auto* at = static_cast<std::uint16_t*>(rows) + row.begin + n;
  if (transfer != Transfer::element && n >= row.first && n + 8 <= row.last) return device::store_global<16>(at, words);
  const u32 length = row.last - row.first;
  DANAUS_UNROLL
  for (int i = 0; i < 8; ++i)
    if (static_cast<u32>(n + i - row.first) < length) device::store_global<2>(at + i, {words[i / 2] >> (16 * (i % 2))});
}

// Begins to load slab `slab` of the item into `to`, by bulk copies: for one thread to call. They complete on `barrier`.
// `line` is the map of 128 bytes, for Path::enclosing.
template <class Shape>
DANAUS_DEVICE void copy_slab(const ConvolutionArguments& a, Path path, const TensorMap& map, const TensorMap& line,
                             Item item, int slab, SharedAddress to, SharedAddress barrier) {
  constexpr auto layout = Shape::layout;
  int at[5];
  Shape::tensor_at(item, slab, at);
  if (path == Path::enclosing) {
    const long long begin = (a.shift + row_offset<Shape>(a, item.row, item.channel)) & ~7ll;
    if (begin >= a.late) {
      DANAUS_UNROLL_BY(1)
      for (int i = 0; i < layout.row_bytes / 128; ++i) {
        const int place[5] = {
            static_cast<int>(begin - a.lines_begin) + Shape::sample_of(8 * i) + slab * layout.slab_offset, 0, 0, 0, 0};
        device::tensor_load(to + 128 * i, line, place, barrier, layout.rows);
      }
      return;
    }
    at[0] += static_cast<int>(begin) & (kMapBlock - 1), at[3] = static_cast<int>(begin >> kMapBlockBits), at[4] = 0;
  }
  device::tensor_load(to, map, at, barrier, layout.rows);
}

// The same for the whole worker, by threads. It completes by copy_async_wait and the worker's barrier.
template <class Shape, class Worker>
DANAUS_DEVICE void copy_slab_by_threads(const ConvolutionArguments& a, const void* rows, Item item, int slab,
                                        SharedAddress to) {
  constexpr auto layout = Shape::layout;
  for (int i = Worker::index(); i < layout.item_rows * layout.row_chunks; i += Worker::kThreads) {
    const int row = item.row + i / layout.row_chunks, chunk = i % layout.row_chunks;
    const int n = Shape::sample_of(chunk) + slab * layout.slab_offset;
    const int present = row < a.batch ? min(max(a.length - n, 0), 8) : 0;
    const SharedAddress place = swizzled(to + i / layout.row_chunks * layout.row_bytes + 16 * chunk);
    const RowPlace from = {row_offset<Shape>(a, row, item.channel), 0, a.length};
    if (a.transfer == Transfer::vector)
      device::copy_async(place, static_cast<const std::uint16_t*>(rows) + (present > 0 ? from.begin + n : 0),
                         2 * present);
    else
      device::store_shared<16>(place, present > 0 ? load_chunk(rows, from, n, a.transfer) : Words<4>{});
  }
}

// Stores the item's slab from `from` by a bulk copy: for one thread to call, which the caller has fenced and
// synchronised. The place is free again after store_wait_read and the worker's barrier.
template <class Shape>
DANAUS_DEVICE void store_slab(const ConvolutionArguments& a, Item item, int slab, SharedAddress from) {
  int at[5];
  Shape::tensor_at(item, slab, at);
  device::tensor_store(a.y_map, at, from, Shape::layout.rows);
  device::store_commit();
}

// The same for the whole worker, by threads. The place is free again after the worker's barrier.
template <class Shape, class Worker>
DANAUS_DEVICE void store_slab_by_threads(const ConvolutionArguments& a, Item item, int slab, SharedAddress from) {
  constexpr auto layout = Shape::layout;
  for (int i = 0; i < layout.item_rows && item.row + i < a.batch; ++i) {
    const RowPlace to = row_place<Shape>(a, item.row + i, item.channel);
    for (int chunk = Worker::index(); chunk < layout.row_chunks; chunk += Worker::kThreads) {
      const int n = Shape::sample_of(chunk) + slab * layout.slab_offset;
      if (n >= to.last) continue;
      const SharedAddress place = swizzled(from + i * layout.row_bytes + 16 * chunk);
      store_chunk(a.y, to, n, a.transfer, device::load_shared<16>(place));
    }
  }
}

// The same for a whole item of one row that came with Transfer::enclosing; slab_at(s) is the place of slab s. Chunks of
// which all samples are the row's have one code, so that their places need little arithmetic, its ends another.
template <class Shape, class Worker, class SlabAt>
DANAUS_DEVICE void store_enclosed(const ConvolutionArguments& a, Item item, SlabAt slab_at) {
  constexpr auto layout = Shape::layout;
  constexpr int kThreads = Worker::kThreads;
  // What the compiler should know of it: chunk / 8 and the like are then constants and shifts.
  const int index = (kThreads & (kThreads - 1)) == 0 ? Worker::index() % kThreads : Worker::index();
  const RowPlace to = row_place<Shape>(a, item.row, item.channel);
  auto* rows = static_cast<std::uint16_t*>(a.y) + to.begin;
  for (int s = 0; s < layout.slabs; ++s) {
    const SharedAddress from = slab_at(s);
    DANAUS_UNROLL
    for (int round = 0; round < (layout.row_chunks + kThreads - 1) / kThreads; ++round) {
      const int chunk = index + round * kThreads;
      if (layout.row_chunks % kThreads != 0 && chunk >= layout.row_chunks) break;
      const int n = Shape::sample_of(chunk) + s * layout.slab_offset;
      if (n >= to.first && n + 8 <= to.last)
        device::store_global<16>(rows + n, device::load_shared<16>(swizzled(from + 16 * chunk)));
    }
  }
  if (to.first == 0 && to.last % 8 == 0) return;
  // A sample a thread: up to 7 before the first whole chunk, up to 7 after the last.
  const int end = index / 8, n = (end == 0 ? 0 : to.last / 8 * 8) + index % 8;
  if (index >= 16 || n < to.first || n >= to.last || (end == 0 && (to.first == 0 || to.last < 8))) return;
  int slab, chunk;
  Shape::locate(n / 8, slab, chunk);
  device::store_global<2>(rows + n, device::load_shared<2>(swizzled(slab_at(slab) + 16 * chunk) + 2 * (n % 8)));
}

// Right angle with wrap: row 0 of the slabs is lo, row 1 is hi, sample n + N of the linear convolution being hi[n].
// y[n] is sample n of it and, L later, what wraps. row_at(s, row) gives the place of that row of slab s.
template <class Shape, class Worker, Dtype T, class RowAt>
DANAUS_DEVICE void store_wrapped(const ConvolutionArguments& a, Item item, RowAt row_at) {
  constexpr auto layout = Shape::layout;
  constexpr int kChunks = layout.size / 8;  // of lo, and of hi
  const auto chunk_of_linear = [&](int number) -> Words<4> {
    if (number >= 2 * kChunks) return {};
    int slab, chunk;
    Shape::locate(number % kChunks, slab, chunk);
    return device::load_shared<16>(swizzled(row_at(slab, number / kChunks) + 16 * chunk));
  };
  const RowPlace to = row_place<Shape>(a, item.row, item.channel);
  const int later = a.length / 8, samples = a.length % 8;  // the way to what wraps
  for (int i = Worker::index(); 8 * i < to.last; i += Worker::kThreads) {
    Words<4> words = chunk_of_linear(i);
    const Words<4> first = chunk_of_linear(i + later), second = chunk_of_linear(i + later + 1);
    u32 w[8] = {first[0], first[1], first[2], first[3], second[0], second[1], second[2], second[3]};
    DANAUS_UNROLL
    for (int j = 0; j < 6; ++j) w[j] = samples & 4 ? w[j + 2] : w[j];
    DANAUS_UNROLL
    for (int j = 0; j < 5; ++j) w[j] = samples & 2 ? w[j + 1] : w[j];
    DANAUS_UNROLL
    for (int j = 0; j < 4; ++j) {
      if (samples & 1) w[j] = device::permute_bytes(w[j], w[j + 1], 0x5432);
      words[j] = device::add2<T>(words[j], w[j]);
    }
    if (a.postgate) {
      const Words<4> gate = load_chunk(a.postgate, to, 8 * i, a.transfer);
      DANAUS_UNROLL
      for (int j = 0; j < 4; ++j) words[j] = device::mul2<T>(words[j], gate[j]);
    }
    store_chunk(a.y, to, 8 * i, a.transfer, words);
  }
}

}  // namespace danaus::inline DANAUS_BACKEND
