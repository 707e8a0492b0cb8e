// The gradients of rows out of the convolutions that a kernel of the filter's gradient makes beside its sums: that of
// v dy times the pregate is du, times u the pregate's gradient; that of w u times dy is the postgate's.
#pragma once

#include "kernels/memory/correlation.hpp"
#include "kernels/memory/rows.hpp"
#include "kernels/tile/scaled.hpp"

namespace danaus::inline DANAUS_BACKEND {

// Stores those of an item that are wanted, for the whole worker. The convolution of w u stands in slabs at
// result_at(slab, row), that of v dy so many bytes behind it; what is there is to be multiplied by its factor, where
// samples are scaled. u, dy and the pregate are read once more: they came through L2 a moment ago, and shared memory
// has no room to keep them.
template <class Shape, class Worker, Path path, class ResultAt>
DANAUS_DEVICE void store_gradients(const CorrelationArguments& a, const Item& item, const float (&factors)[2],
                                   ResultAt result_at, int behind) {
  constexpr auto layout = Shape::layout;
  constexpr int kOfRow = layout.slabs * layout.row_chunks, kChunks = layout.item_rows * kOfRow;
  constexpr int kAtOnce = kChunks % (2 * Worker::kThreads) == 0 ? 2 : 1;  // chunks of a thread, whose loads overlap
  const bool whole = path == Path::tensor || a.rows.transfer != Transfer::element;
  const auto load = [&](const void* rows, const RowPlace& row, int n) {
    if (whole) return device::load_global<16>(static_cast<const std::uint16_t*>(rows) + row.begin + n);
    return load_chunk(rows, row, n, Transfer::element);
  };
  const auto store = [&](void* rows, const RowPlace& row, int n, const Words<4>& words) {
    if (whole) return device::store_global<16>(static_cast<std::uint16_t*>(rows) + row.begin + n, words);
    store_chunk(rows, row, n, Transfer::element, words);
  };
  DANAUS_UNROLL_BY(1)
  for (int first = Worker::index(); first < kChunks; first += kAtOnce * Worker::kThreads) {
    int samples[kAtOnce];  // before the chunk; -1: there is none
    RowPlace rows[kAtOnce];
    SharedAddress results[kAtOnce];
    DANAUS_UNROLL
    for (int i = 0; i < kAtOnce; ++i) {
      const int number = first + i * Worker::kThreads, row = number / kOfRow, of_row = number % kOfRow;
      const int slab = of_row / 8 % layout.slabs, chunk = of_row / (8 * layout.slabs) * 8 + of_row % 8;
      const int n = sample_of<Shape>(slab, chunk);
      samples[i] = number < kChunks && item.row + row < a.rows.batch && n < a.rows.length ? n : -1;
      rows[i] = row_place(a.rows, Path::threads, item, row);
      results[i] = swizzled(result_at(slab, row) + 16 * chunk);
    }
    const auto for_each = [&](auto visit) {
      DANAUS_UNROLL
      for (int i = 0; i < kAtOnce; ++i)
        if (samples[i] >= 0) visit(i);
    };
    using Chunks = Words<4>[kAtOnce];
    const auto load_all = [&](const void* from, Chunks& chunks) {
      for_each([&](int i) { chunks[i] = load(from, rows[i], samples[i]); });
    };
    const auto load_results = [&](int array, Chunks& chunks) {
      for_each([&](int i) { chunks[i] = device::load_shared<16>(results[i] + array * behind); });
    };
    const auto store_all = [&](void* to, const Chunks& chunks, auto of_word) {
      for_each([&](int i) {
        Words<4> words;
        DANAUS_UNROLL
        for (int m = 0; m < 4; ++m) words[m] = of_word(chunks[i][m], i, m);
        store(to, rows[i], samples[i], words);
      });
    };
    const auto store_gated = [&](void* to, const Chunks& chunks, float factor, const Chunks& gates) {
      store_all(to, chunks,
                [&](u32 word, int i, int m) { return scaled::samples_of<layout.dtype>(word, factor, gates[i][m]); });
    };
    Chunks of, gates, others;
    if (a.rows.pregate) {
      load_all(a.rows.pregate, gates), load_all(a.rows.u, others), load_results(1, of);
      store_gated(a.rows.y, of, factors[1], gates), store_gated(a.dpregate, of, factors[1], others);
    } else {
      load_results(1, of);
      store_all(a.rows.y, of, [&](u32 word, int, int) { return scaled::samples_of<layout.dtype>(word, factors[1]); });
    }
    if (a.rows.postgate) {
      load_all(a.dy, gates), load_results(0, of);
      store_gated(a.dpostgate, of, factors[0], gates);
    }
  }
}

}  // namespace danaus::inline DANAUS_BACKEND
