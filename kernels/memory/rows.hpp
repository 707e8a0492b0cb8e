// Moves rows between global memory and the slabs of shared memory that a kernel computes in.
//
// A slab holds a part of the rows of one item: two batch rows for the pair fold; one row for the right angle, and room
// for its imaginary part, there or elsewhere. Slabs form a ring: slab number s lives at place s mod ring, and is loaded
// again when the stores from its place have been read. `Worker` says who shares the ring (a warp or a block):
//   kThreads             threads that take part         index()   number of this thread among them
// `Shape` says what a slab is:
//   layout               a RowLayout
//   sample_of(chunk)     first sample (before adding slab offset) of 16-byte chunk number `chunk` of a row's slab
//   is_sum(n)            whether sample_of(i + n j) is sample_of(i) + sample_of(n j) for 0 <= i < n
//   locate(chunk of a row)     its slab and its number there
//   tensor_at(...)       coordinates for tensor copies
#pragma once

#include "kernels/device/operations.hpp"
#include "kernels/memory/arguments.hpp"
#include "kernels/memory/layout.hpp"
#include "kernels/tile/tile.hpp"

namespace danaus::inline DANAUS_BACKEND {

// Where the rows of an item are: channel h, rows b and, for the pair fold, b + 1; sample 0 of the first in an array.
// Items are numbered along the batch, then along the channels.
struct Item {
  int channel, row;
  long long offset;
};

DANAUS_DEVICE long long samples_to_next_row(const ConvolutionArguments& a) {
  return static_cast<long long>(a.channels) * a.length;
}

template <class Shape>
DANAUS_DEVICE Item item_at(const ConvolutionArguments& a, int number) {
  const int of_channel = a.division.items_of_channel;
  const int channel = number / of_channel, row = Shape::layout.item_rows * (number % of_channel);
  return {channel, row, row * samples_to_next_row(a) + static_cast<long long>(channel) * a.length};
}

// The next item.
template <class Shape>
DANAUS_DEVICE void advance(const ConvolutionArguments& a, Item& item) {
  item.row += Shape::layout.item_rows, item.offset += Shape::layout.item_rows * samples_to_next_row(a);
  if (item.row >= a.batch) item = {item.channel + 1, 0, static_cast<long long>(item.channel + 1) * a.length};
}

// A row as threads see it: samples `first` to `last` - 1 from `begin` on, where an address is aligned or Transfer is
// element. With Transfer::enclosing what a row is computed as begins up to 7 samples before it: a convolution does not
// mind being shifted. Up to 7 of its samples may then stand beyond N: sample N + j is i times one at j, where the right
// angle has a^N = i, and so are the first samples of u, as of y, the real part of what is computed, and the ones beyond
// N the imaginary part of the same chunk.
struct RowPlace {
  long long begin;
  int first, last;
};

// Of the item's first or second row.
DANAUS_DEVICE RowPlace row_place(const ConvolutionArguments& a, Path path, const Item& item, int row = 0) {
  const long long offset = item.offset + row * samples_to_next_row(a);
  if (path != Path::enclosing) return {offset, 0, a.length};
  const int before = static_cast<int>(a.shift + offset) & 7;
  return {offset - before, before, before + a.length};
}

// Of the 8 samples from n on, a multiple of 8, those that are the row's, the others zero.
DANAUS_DEVICE Words<4> within(const RowPlace& row, int n, Words<4> words) {
  const int before = 16 * (row.first - n), present = 16 * (row.last - n);  // bits
  DANAUS_UNROLL
  for (int i = 0; i < 4; ++i)
    words[i] &= device::shift_left(~0u, max(before - 32 * i, 0)) & ~device::shift_left(~0u, max(present - 32 * i, 0));
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
    const long long begin = (a.shift + item.offset) & ~7ll;
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
    const RowPlace from = row_place(a, Path::threads, item, i / layout.row_chunks);
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
    const RowPlace to = row_place(a, Path::threads, item, i);
    for (int chunk = Worker::index(); chunk < layout.row_chunks; chunk += Worker::kThreads) {
      const int n = Shape::sample_of(chunk) + slab * layout.slab_offset;
      if (n >= to.last) continue;
      const SharedAddress place = swizzled(from + i * layout.row_bytes + 16 * chunk);
      store_chunk(a.y, to, n, a.transfer, device::load_shared<16>(place));
    }
  }
}

// The same for slabs `first` to `last` - 1 of an item of one row that came with Transfer::enclosing; slab_at(s) is the
// place of slab s. Chunks of which all samples are the row's take little arithmetic; its ends are stored sample by
// sample.
template <class Shape, class Worker, class SlabAt>
DANAUS_DEVICE void store_enclosed(const ConvolutionArguments& a, const Item& item, int first, int last,
                                  SlabAt slab_at) {
  constexpr auto layout = Shape::layout;
  constexpr int kThreads = Worker::kThreads, kRounds = (layout.row_chunks + kThreads - 1) / kThreads;
  constexpr bool kIsSum = Shape::is_sum(kThreads);
  const int index = Worker::index();
  const RowPlace to = row_place(a, Path::enclosing, item);
  const int own = Shape::sample_of(index);
  auto* rows = static_cast<std::uint16_t*>(a.y) + to.begin;
  auto* own_rows = rows + own;
  for (int s = first; s < last; ++s) {
    const SharedAddress from = swizzled(slab_at(s) + 16 * index);
    DANAUS_UNROLL
    for (int round = 0; round < kRounds; ++round) {
      const int chunk = index + round * kThreads;
      if (layout.row_chunks % kThreads != 0 && chunk >= layout.row_chunks) break;
      const int later = kIsSum ? Shape::sample_of(round * kThreads) : Shape::sample_of(chunk) - own;
      const int n = own + later + s * layout.slab_offset;
      const bool begins = round == 0 && n == 0 && to.first > 0;  // with what is not the row's
      if (!begins && n + 8 <= to.last)
        device::store_global<16>(own_rows + later + s * layout.slab_offset,
                                 device::load_shared<16>(swizzled_later(from, 16 * round * kThreads)));
    }
  }
  if (to.first == 0 && to.last % 8 == 0) return;
  // Up to 7 samples before the first whole chunk, up to 7 after the last: a sample a thread.
  const bool after = index >= 8 || to.first == 0;
  const int n = index % 8 + (after ? to.last & ~7 : 0);
  if (index >= 16 || n < to.first || n >= min(to.last, layout.size) || (after && index < 8)) return;
  int slab, chunk;
  Shape::locate(n / 8, slab, chunk);
  if (slab < first || slab >= last) return;
  device::store_global<2>(rows + n, device::load_shared<2>(swizzled(slab_at(slab) + 16 * chunk) + 2 * (n % 8)));
}

}  // namespace danaus::inline DANAUS_BACKEND
