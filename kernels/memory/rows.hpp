// Moves rows between global memory and the slabs of shared memory that a kernel computes in.
//
// A slab holds a part of the rows of one item: two batch rows for the pair fold; one row for the right angle, and room
// for its imaginary part, there or elsewhere. Slabs form a ring: slab number s lives at place s mod ring, and is loaded
// again when the stores from its place have been read. `Worker` says who shares the ring (a warp or a block):
//   kThreads             threads that take part         index()   number of this thread among them
// `Shape` says what a slab is:
//   layout               a RowLayout
//   tensor_at(...)       coordinates for tensor copies
#pragma once

#include "kernels/device/operations.hpp"
#include "kernels/memory/arguments.hpp"
#include "kernels/memory/layout.hpp"
#include "kernels/tile/tile.hpp"

namespace danaus::inline DANAUS_BACKEND {

// Threads that move rows together: those of a block.
template <int threads>
struct BlockWorker {
  static constexpr int kThreads = threads;
  static DANAUS_DEVICE int index() { return device::thread_index(); }
};

// The rows of an item: of channel h, b and, for the pair fold, b + 1. Items are numbered along the batch, then along
// the channels.
struct Item {
  int channel, row;
};

// Sample 0 of an item's first or second row in an array.
DANAUS_DEVICE long long offset_of(const RowStrides& strides, const Item& item, int row = 0) {
  return (item.row + row) * strides.row + item.channel * strides.channel;
}

template <class Shape>
DANAUS_DEVICE Item item_at(const ConvolutionArguments& a, int number) {
  const int of_channel = a.division.items_of_channel;
  const int channel = number / of_channel, row = Shape::layout.item_rows * (number % of_channel);
  return {channel, row};
}

// The next item.
template <class Shape>
DANAUS_DEVICE void advance(const ConvolutionArguments& a, Item& item) {
  item.row += Shape::layout.item_rows;
  if (item.row >= a.batch) item = {item.channel + 1, 0};
}

// A row as threads see it: samples `first` to `last` - 1 from `begin` on, where an address is aligned or Transfer is
// element. An enclosed row is computed with up to 7 samples before it: a convolution does not mind being shifted. Up to
// 7 of its samples may then stand beyond N. The right angle has a^N = i, so sample N + j is i times one at j. In u and
// y alike, a chunk's first samples are the real part, and those beyond N the imaginary part of the same chunk.
struct RowPlace {
  long long begin;
  int first, last;
};

// Of the item's first or second row in an array of these strides.
DANAUS_DEVICE RowPlace row_place(const ConvolutionArguments& a, const RowStrides& strides, Path path, const Item& item,
                                 int row = 0) {
  const long long offset = offset_of(strides, item, row);
  if (!encloses(path)) return {offset, 0, a.length};
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

// 8 samples times those of a gate.
template <Dtype T>
DANAUS_DEVICE Words<4> gated(Words<4> samples, Words<4> gate) {
  DANAUS_UNROLL
  for (int i = 0; i < 4; ++i) samples[i] = device::mul2<T>(samples[i], gate[i]);
  return samples;
}

// First sample of a chunk of a slab; and the chunk that begins with sample n, and its slab.
template <class Shape>
DANAUS_DEVICE int sample_of(int slab, int chunk) {
  constexpr auto layout = Shape::layout;
  const int line = chunk / 8;
  return line % layout.plane_lines * layout.line_step + line / layout.plane_lines * layout.plane_step + 64 * slab +
         chunk % 8 * 8;
}
template <class Shape>
DANAUS_DEVICE int chunk_of(int n) {
  constexpr auto layout = Shape::layout;
  return 8 * (n / layout.line_step + n % layout.line_step / layout.plane_step * layout.plane_lines) + n % 64 / 8;
}
template <class Shape>
DANAUS_DEVICE int slab_of(int n) {
  return n % Shape::layout.line_step % Shape::layout.plane_step / 64;
}

// Begins to load slab `slab` of the item into `to`, by bulk copies: for one thread to call. They complete on `barrier`.
// `line` is the map of 128 bytes, of enclosed rows.
template <class Shape>
DANAUS_DEVICE void copy_slab(const ConvolutionArguments& a, Path path, const TensorMap& map, const TensorMap& line,
                             Item item, int slab, SharedAddress to, SharedAddress barrier) {
  constexpr auto layout = Shape::layout;
  int at[5];
  Shape::tensor_at(item, slab, at);
  if (encloses(path)) {
    const long long begin = (a.shift + offset_of(a.u_strides, item)) & ~7ll;
    if (begin >= a.late) {
      DANAUS_UNROLL_BY(1)
      for (int i = 0; i < layout.row_bytes / 128; ++i) {
        const int place[5] = {static_cast<int>(begin - a.lines_begin) + sample_of<Shape>(slab, 8 * i), 0, 0, 0, 0};
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
DANAUS_DEVICE void copy_slab_by_threads(const ConvolutionArguments& a, const void* rows, const RowStrides& strides,
                                        Item item, int slab, SharedAddress to) {
  constexpr auto layout = Shape::layout;
  for (int i = Worker::index(); i < layout.item_rows * layout.row_chunks; i += Worker::kThreads) {
    const int row = item.row + i / layout.row_chunks, chunk = i % layout.row_chunks;
    const int n = sample_of<Shape>(slab, chunk);
    const int present = row < a.batch ? min(max(a.length - n, 0), 8) : 0;
    const SharedAddress place = swizzled(to + i / layout.row_chunks * layout.row_bytes + 16 * chunk);
    const RowPlace from = row_place(a, strides, Path::threads, item, i / layout.row_chunks);
    if (a.transfer == Transfer::vector)
      device::copy_async(place, static_cast<const std::uint16_t*>(rows) + (present > 0 ? from.begin + n : 0),
                         2 * present);
    else
      device::store_shared<16>(place, present > 0 ? load_chunk(rows, from, n, a.transfer) : Words<4>{});
  }
}

// The same times a gate, unless that is null: then the product is done when this returns.
template <class Shape, class Worker>
DANAUS_DEVICE void copy_gated_slab_by_threads(const ConvolutionArguments& a, const void* rows,
                                              const RowStrides& strides, const void* gate,
                                              const RowStrides& gate_strides, Item item, int slab, SharedAddress to) {
  constexpr auto layout = Shape::layout;
  if (!gate) return copy_slab_by_threads<Shape, Worker>(a, rows, strides, item, slab, to);
  DANAUS_UNROLL_BY(2)
  for (int i = Worker::index(); i < layout.item_rows * layout.row_chunks; i += Worker::kThreads) {
    const int row = i / layout.row_chunks, chunk = i % layout.row_chunks, n = sample_of<Shape>(slab, chunk);
    Words<4> words{};
    if (item.row + row < a.batch && n < a.length) {
      const auto load = [&](const void* array, const RowStrides& of_array) {
        return load_chunk(array, row_place(a, of_array, Path::threads, item, row), n, a.transfer);
      };
      words = gated<layout.dtype>(load(rows, strides), load(gate, gate_strides));
    }
    device::store_shared<16>(swizzled(to + row * layout.row_bytes + 16 * chunk), words);
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
    const RowPlace to = row_place(a, a.y_strides, Path::threads, item, i);
    for (int chunk = Worker::index(); chunk < layout.row_chunks; chunk += Worker::kThreads) {
      const int n = sample_of<Shape>(slab, chunk);
      if (n >= to.last) continue;
      const SharedAddress place = swizzled(from + i * layout.row_bytes + 16 * chunk);
      store_chunk(a.y, to, n, a.transfer, device::load_shared<16>(place));
    }
  }
}

// The same for slabs `first` to `last` - 1 of an enclosed row; slab_at(s) is the place of slab s. Where a slab has
// several planes, what is the row's wherever it begins goes by bulk copies: lines before a.whole_lines, of the first
// plane without the first (8001 of 8192: 906 -> 818 us; but 1001 of 1024, with two planes: 121 -> 144). Threads store
// the others, chunk by chunk, and the row's ends sample by sample.
template <class Shape, class Worker, class SlabAt>
DANAUS_DEVICE void store_enclosed(const ConvolutionArguments& a, const Item& item, int first, int last,
                                  SlabAt slab_at) {
  constexpr auto layout = Shape::layout;
  constexpr int kOfLine = 8 * layout.planes;  // chunks, in all planes
  constexpr int kLines = Worker::kThreads / kOfLine;
  static_assert(Worker::kThreads % kOfLine == 0);
  const int index = Worker::index();
  const RowPlace to = row_place(a, a.y_strides, Path::enclosing, item);
  if (layout.stores_in_bulk && index == 0) {
    const long long begin = a.shift + to.begin;
    for (int s = first; s < last; ++s) {
      const int at[5] = {(static_cast<int>(begin) & (kMapBlock - 1)) + 64 * s, 0, 0,
                         static_cast<int>(begin >> kMapBlockBits), 0};
      const SharedAddress from = slab_at(s);
      if (a.whole_lines > 1) device::tensor_store(a.y_line, at, from + 128, layout.rows);
      if (a.whole_lines > 0) device::tensor_store(a.y_map, at, from + 128 * layout.plane_lines, layout.rows);
      device::store_commit();
    }
  }
  const int plane = index % kOfLine / 8, chunk = 8 * layout.plane_lines * plane + index % 8;
  const int own = layout.plane_step * plane + 8 * (index % 8);
  auto* rows = static_cast<std::uint16_t*>(a.y) + to.begin;
  auto* own_rows = rows + own;
  const auto store = [&](int line) {
    for (int s = first; s < last; ++s) {
      const int later = layout.line_step * line + 64 * s, n = own + later;
      const bool begins = n == 0 && to.first > 0;  // with what is not the row's
      if (!begins && n + 8 <= to.last)
        device::store_global<16>(own_rows + later,
                                 device::load_shared<16>(swizzled(slab_at(s) + 16 * (chunk + 8 * line))));
    }
  };
  if constexpr (layout.stores_in_bulk) {
    if (index < 8 && a.whole_lines > 0) store(0);
    for (int line = a.whole_lines + index / kOfLine; line < layout.plane_lines; line += kLines) store(line);
  } else {
    DANAUS_UNROLL
    for (int i = 0; i < layout.plane_lines; i += kLines)
      if (const int line = i + index / kOfLine; line < layout.plane_lines) store(line);
  }
  if (to.first == 0 && to.last % 8 == 0) return;
  // Up to 7 samples before the first whole chunk, up to 7 after the last: a sample a thread. A row that begins and ends
  // in one chunk is the first threads'.
  const bool begins = index < 8;
  const int end = begins ? 0 : to.last & ~7, n = end + index % 8;
  if (index >= 16 || begins != (end == 0 && to.first > 0) || n < to.first || n >= min(to.last, layout.size)) return;
  const int slab = slab_of<Shape>(n);
  if (slab < first || slab >= last) return;
  device::store_global<2>(rows + n,
                          device::load_shared<2>(swizzled(slab_at(slab) + 16 * chunk_of<Shape>(n)) + 2 * (n % 8)));
}

}  // namespace danaus::inline DANAUS_BACKEND
