// The gradients of rows out of the convolutions that a kernel of the filter's gradient makes beside its sums: that of
// v dy times the pregate is du, times u the pregate's gradient; that of w u times dy is the postgate's.
#pragma once

#include "kernels/memory/correlation.hpp"
#include "kernels/memory/rows.hpp"
#include "kernels/tile/scaled.hpp"

namespace danaus::inline DANAUS_BACKEND {

// 8 samples of an item, as a thread stores them.
struct GradientChunk {
  int row, slab, bytes;  // of the item; where in a slab's row, before the swizzle
  int n;                 // the first sample; -1: there is none
  Item item;
  DANAUS_DEVICE RowPlace place(const CorrelationArguments& a, const RowStrides& strides) const {
    return row_place(a.rows, strides, Path::threads, item, row);
  }
};

// What the convolutions are multiplied by.
enum class GateOfRows { u, pregate, dy };

// From global memory: a moment ago all of it came through L2. Or, a type with the same members, from where it still is.
template <Path path>
struct GatesFromMemory {
  static constexpr int at_once = 2;  // chunks of a thread, whose loads overlap
  const CorrelationArguments& a;
  DANAUS_DEVICE bool whole() const { return path == Path::tensor || a.rows.transfer != Transfer::element; }
  DANAUS_DEVICE Words<4> operator()(GateOfRows gate, const GradientChunk& of) const {
    const void* rows = gate == GateOfRows::u ? a.rows.u : gate == GateOfRows::dy ? a.dy : a.rows.pregate;
    const RowStrides& strides = gate == GateOfRows::u    ? a.rows.u_strides
                                : gate == GateOfRows::dy ? a.dy_strides
                                                         : a.rows.pregate_strides;
    const RowPlace place = of.place(a, strides);
    if (!whole()) return load_chunk(rows, place, of.n, Transfer::element);
    return device::load_global<16>(static_cast<const std::uint16_t*>(rows) + place.begin + of.n);
  }
};

// As scaled::samples_of(). In f16, `has_factor` multiplies results by the factor of the channel's spectrum.
template <Dtype T, bool has_factor>
DANAUS_DEVICE u32 gradient_of(u32 results, float factor) {
  if constexpr (T == Dtype::bf16 || !has_factor) return scaled::samples_of<T>(results, factor);
  device::count_fp32(2);
  return device::pack2<T>(device::lower_float(results) * factor, device::upper_float(results) * factor);
}
template <Dtype T, bool has_factor>
DANAUS_DEVICE u32 gradient_of(u32 results, float factor, u32 gate) {
  if constexpr (T == Dtype::bf16 || !has_factor) return scaled::samples_of<T>(results, factor, gate);
  device::count_fp32(4);
  return device::pack2<T>(device::lower_float(results) * factor * device::lower_float<T>(gate),
                          device::upper_float(results) * factor * device::upper_float<T>(gate));
}

// Stores those of an item that are wanted, for the whole worker. The convolution of w u stands in slabs at
// result_at(slab, row), that of v dy so many bytes behind it; what is there is to be multiplied by its factor, where
// samples are scaled. gate(which, chunk) are the samples that it is to be multiplied by.
template <bool has_factor, class Shape, class Worker, Path path, class ResultAt, class Gates>
DANAUS_DEVICE void store_gradients_of_item(const CorrelationArguments& a, const Item& item, const float (&factors)[2],
                                           ResultAt result_at, int behind, const Gates& gate) {
  constexpr auto layout = Shape::layout;
  constexpr int kOfRow = layout.slabs * layout.row_chunks, kChunks = layout.item_rows * kOfRow;
  constexpr int kAtOnce = kChunks % (Gates::at_once * Worker::kThreads) == 0 ? Gates::at_once : 1;
  const bool whole = GatesFromMemory<path>{a}.whole();
  DANAUS_UNROLL_BY(1)
  for (int first = Worker::index(); first < kChunks; first += kAtOnce * Worker::kThreads) {
    GradientChunk chunk[kAtOnce];
    DANAUS_UNROLL
    for (int i = 0; i < kAtOnce; ++i) {
      const int number = first + i * Worker::kThreads, row = number / kOfRow, of_row = number % kOfRow;
      const int slab = of_row / 8 % layout.slabs, of_slab = of_row / (8 * layout.slabs) * 8 + of_row % 8;
      const int n = sample_of<Shape>(slab, of_slab);
      const bool present = number < kChunks && item.row + row < a.rows.batch && n < a.rows.length;
      chunk[i] = {row, slab, 16 * of_slab, present ? n : -1, item};
    }
    const auto for_each = [&](auto visit) {
      DANAUS_UNROLL
      for (int i = 0; i < kAtOnce; ++i)
        if (chunk[i].n >= 0) visit(i);
    };
    using Chunks = Words<4>[kAtOnce];
    const auto load = [&](GateOfRows which, Chunks& words) {
      for_each([&](int i) { words[i] = gate(which, chunk[i]); });
    };
    const auto load_results = [&](int array, Chunks& words) {
      for_each([&](int i) {
        const SharedAddress at = result_at(chunk[i].slab, chunk[i].row) + array * behind;
        words[i] = device::load_shared<16>(swizzled(at + chunk[i].bytes));
      });
    };
    const auto store = [&](void* to, const RowStrides& strides, const Chunks& results, auto of_word) {
      for_each([&](int i) {
        Words<4> words;
        DANAUS_UNROLL
        for (int m = 0; m < 4; ++m) words[m] = of_word(results[i][m], i, m);
        const RowPlace place = chunk[i].place(a, strides);
        if (whole)
          device::store_global<16>(static_cast<std::uint16_t*>(to) + place.begin + chunk[i].n, words);
        else
          store_chunk(to, place, chunk[i].n, Transfer::element, words);
      });
    };
    const auto store_gated = [&](void* to, const RowStrides& strides, const Chunks& results, float factor,
                                 const Chunks& gates) {
      store(to, strides, results,
            [&](u32 word, int i, int m) { return gradient_of<layout.dtype, has_factor>(word, factor, gates[i][m]); });
    };
    Chunks results, gates, others;
    if (a.rows.pregate) {
      load(GateOfRows::pregate, gates), load(GateOfRows::u, others), load_results(1, results);
      store_gated(a.rows.y, a.rows.y_strides, results, factors[1], gates);
      store_gated(a.dpregate, a.dpregate_strides, results, factors[1], others);
    } else {
      load_results(1, results);
      store(a.rows.y, a.rows.y_strides, results,
            [&](u32 word, int, int) { return gradient_of<layout.dtype, has_factor>(word, factors[1]); });
    }
    if (a.rows.postgate) {
      load(GateOfRows::dy, gates), load_results(0, results);
      store_gated(a.dpostgate, a.dpostgate_strides, results, factors[0], gates);
    }
  }
}

// The same. Asks once for each item whether it has factors: in f16 most filters have none. Where work is counted, they
// are 0.
template <class Shape, class Worker, Path path, class ResultAt, class Gates>
DANAUS_DEVICE void store_gradients(const CorrelationArguments& a, const Item& item, const float (&factors)[2],
                                   ResultAt result_at, int behind, const Gates& gate) {
  const auto is_none = [](float factor) { return factor == 1 || factor == 0; };
  if constexpr (Shape::layout.dtype == Dtype::f16)
    if (is_none(factors[0]) && is_none(factors[1]))
      return store_gradients_of_item<false, Shape, Worker, path>(a, item, factors, result_at, behind, gate);
  store_gradients_of_item<true, Shape, Worker, path>(a, item, factors, result_at, behind, gate);
}

}  // namespace danaus::inline DANAUS_BACKEND
