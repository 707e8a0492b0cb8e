// decode: y of one position after the other, y[n] = sum_m k[m] u[n - m], where u[n] is known once y[n - 1] is.
//
// source     relaxed convolution (Fischer and Stockmeyer 1974; van der Hoeven 2002), for sequence models Flash
//            Inference (Oncescu et al. 2024)
// index      tiles of doubling size: where n is U times an odd number, U >= W a power of two, the samples n - U to
//            n - 1 are convolved with k[0 ... 2 U - 1] for the U positions from n on. So what a position has of samples
//            before its window of W is in its sum when it comes, and the rest is multiplied here
// shapes     u, y [B, H] of a position; history [B, H, L], sums [B, H, L] fp32; window [W, B, H], taps [W, H]
// memory     next: a block has 32 rows, each of its warps some of the window's samples; the others are elementwise
// error      of tiles as of their kernels; sums in fp32, y rounded once
// reference  reference/convolution/convolve.hpp   test   tests/kernels/decode_test.cpp
#pragma once

#include "kernels/families/decode/layout.hpp"
#include "kernels/tile/bits.hpp"

namespace danaus::decode::inline DANAUS_BACKEND {

template <Key key, Tuning tuning>
struct Shape {
  static constexpr Layout layout{key, tuning};
};

DANAUS_DEVICE const unsigned char* sample_at(const void* samples, long long i) {
  return static_cast<const unsigned char*>(samples) + 2 * i;
}
DANAUS_DEVICE unsigned char* sample_at(void* samples, long long i) {
  return static_cast<unsigned char*>(samples) + 2 * i;
}

template <class P>
DANAUS_DEVICE void next(const Arguments& a) {
  constexpr Dtype T = P::layout.key.dtype;
  constexpr int kWarps = P::layout.tuning.warps;
  const int warp = device::warp_index(), row = 32 * device::block_index() + device::lane_index();
  const bool is_there = row < a.rows;
  // Only the warp that multiplies the newest sample reads it; later launches find it in the window.
  float sum = 0;
  for (int back = warp; is_there && back <= a.newest; back += kWarps) {
    const int place = a.newest - back;
    const Words<1> u =
        device::load_global<2>(back == 0 ? sample_at(a.from, row) : sample_at(a.window, 1ll * place * a.rows + row));
    const Words<1> k = device::load_global<4>(a.taps + 1ll * back * a.channels + row % a.channels);
    sum = device::fma(device::lower_float<T>(u[0]), float_of(k[0]), sum);
    device::count_fp32(2);
    if (back != 0) continue;
    device::store_global<2>(sample_at(a.window, 1ll * place * a.rows + row), u);
    device::store_global<2>(sample_at(a.history, row * a.length + a.position), u);
  }
  device::store_shared<4>(4 * device::thread_index(), {word_of(sum)});
  device::sync_block();
  if (warp != 0 || !is_there) return;
  float y = float_of(device::load_global<4>(a.sums + row * a.length + a.position)[0]);
  DANAUS_UNROLL
  for (int w = 0; w < kWarps; ++w) y += float_of(device::load_shared<4>(4 * (32 * w + device::lane_index()))[0]);
  device::count_fp32(kWarps);
  device::store_global<2>(sample_at(a.to, row), {device::pack2<T>(y, 0) & 0xffffu});
}

// A warp a row: what tiles are to be compared with.
template <class P>
DANAUS_DEVICE void dot(const Arguments& a) {
  constexpr Dtype T = P::layout.key.dtype;
  const int row = P::layout.tuning.warps * device::block_index() + device::warp_index(), lane = device::lane_index();
  if (row >= a.rows) return;
  unsigned char* const history = sample_at(a.history, row * a.length);
  const float* const taps = a.taps + row % a.channels * a.count;
  const Words<1> newest = device::load_global<2>(sample_at(a.from, row));
  float sum = lane == 0 ? device::lower_float<T>(newest[0]) * float_of(device::load_global<4>(taps)[0]) : 0;
  const long long most = min(a.position, a.count - 1);
  DANAUS_UNROLL_BY(8)
  for (long long back = 1 + lane; back <= most; back += 32) {
    const Words<1> u = device::load_global<2>(sample_at(history, a.position - back));
    sum = device::fma(device::lower_float<T>(u[0]), float_of(device::load_global<4>(taps + back)[0]), sum);
    device::count_fp32(2);
  }
  DANAUS_UNROLL
  for (int apart = 16; apart > 0; apart /= 2) sum += float_of(device::shuffle(word_of(sum), lane ^ apart));
  if (lane != 0) return;
  device::store_global<2>(sample_at(history, a.position), newest);
  device::store_global<2>(sample_at(a.to, row), {device::pack2<T>(sum, 0) & 0xffffu});
}

// Calls visit(row, i) for i below `count` of every row, each by one thread.
template <class P, class Visit>
DANAUS_DEVICE void for_each_sample(const Arguments& a, long long count, Visit visit) {
  const long long stride = 1ll * device::block_count() * P::layout.threads;
  long long i = 1ll * device::block_index() * P::layout.threads + device::thread_index();
  for (; i < a.rows * count; i += stride) visit(i / count, i % count);
}

template <class P, Path>
DANAUS_DEVICE void run(const Arguments& a) {
  constexpr Dtype T = P::layout.key.dtype;
  device::let_next_grid_begin();
  device::wait_for_previous_grid();
  if constexpr (P::layout.key.work == Work::next) {
    next<P>(a);
  } else if constexpr (P::layout.key.work == Work::dot) {
    dot<P>(a);
  } else if constexpr (P::layout.key.work == Work::move) {
    for_each_sample<P>(a, a.count + a.zeros, [&](long long row, long long i) {
      Words<1> sample{};
      if (i < a.count) sample = device::load_global<2>(sample_at(a.from, row * a.from_stride + i));
      device::store_global<2>(sample_at(a.to, row * a.to_stride + i), sample);
    });
  } else {
    for_each_sample<P>(a, a.count, [&](long long row, long long i) {
      float* sum = a.sums + row * a.length + a.position + i;
      const float more =
          a.from ? device::lower_float<T>(device::load_global<2>(sample_at(a.from, row * a.from_stride + i))[0]) : 0;
      const float before = a.first ? 0 : float_of(device::load_global<4>(sum)[0]);
      device::store_global<4>(sum, {word_of(before + more)});
      device::count_fp32(1);
    });
  }
}

}  // namespace danaus::decode::inline DANAUS_BACKEND
