// fused_chain: y = v * conv(w * u, k) with the whole FFT in one warp's registers, N = 256 r.
//
// source     the register chain of FlashFFTConv (Fu et al. 2023, algorithm 1) with a radix r over tiles on top
// index      n = 256 nr + 16 n1 + n2,  k = kr + r (k1 + 16 k2);  nr, kr < r;  n1, n2, k1, k2 < 16
// shapes     u, y, gates [B, H, L], L <= N; one warp takes two batch rows (pair fold) or one row (right angle)
// types      storage f16 or bf16; f16 rounds every product of matrices to f16, bf16 accumulates a stage in f32
// scaling    unitary up to a power of two; the power is in the DFT matrices, the rest in the spectrum
// steps      radix r over nr | twiddle | DFT16 over n1 | twiddle | DFT16 over n2 | spectrum | and back
// tile       x[nr][i][j]: rows 8 i + 2t+e, columns 8 j + g of the 16 x 16 block nr
// resources  no block barrier; a ring of kRing slabs a warp
// error      bound_l2_of_roundings(dtype, roundings): kernels/variants.hpp
// reference  reference/convolution/convolve.hpp   test   tests/kernels/fused_test.cpp
#pragma once

#include "kernels/tile/radix.hpp"
#include "kernels/transfer.hpp"

namespace danaus::inline DANAUS_BACKEND {

struct WarpWorker {
  static constexpr int kThreads = 32;
  static DANAUS_DEVICE int index() { return device::lane_index(); }
};

template <Dtype type, Fold fold, bool gated, int radix, int warps, int ring>
struct FusedChain {
  static constexpr Dtype kType = type;
  static constexpr bool kPair = fold == Fold::pair;
  static constexpr bool kGated = gated;
  static constexpr int kRadix = radix, kWarps = warps, kRing = ring;
  static constexpr int kSize = 256 * radix;
  static constexpr int kThreads = 32 * warps;

  // One slab an item, in the order of the samples: lines of 64 samples, the 16-byte chunk c of line l at c ^ (l mod 8).
  static constexpr int kSlabs = 1, kSlabOffset = 0;
  static constexpr Cache kCache = Cache::normal;
  static constexpr int kRowBytes = 2 * kSize, kChunks = kSize / 8;
  static DANAUS_DEVICE int sample_of(int chunk) { return 8 * chunk; }
  static DANAUS_DEVICE void locate(int chunk_of_row, int& slab, int& chunk) { slab = 0, chunk = chunk_of_row; }
  static DANAUS_DEVICE void tensor_at(Item item, int, int (&at)[5]) {
    at[0] = at[1] = at[2] = 0, at[3] = item.channel, at[4] = item.row;
  }

  // The right angle of one block: its weights are part of DFT16 n1, real on one side, and of the inner twiddle.
  static constexpr bool kRealRows = !kPair && radix == 1;

  // Tables, in vectors of four words a lane: DFT16; inner twiddle, w256^(k1 n2); then that of the way back, DFT16 n1
  // there and back; or, per kr, the outer twiddle.
  static constexpr int kMatrixAt = 0, kInnerAt = 4, kInnerBackAt = 6, kRealAt = 8, kOuterAt = 6;
  static constexpr bool kOuterNeeded = radix > 1;
  static constexpr int kOuterVectors = kOuterNeeded ? 2 * radix : 0;
  static constexpr int kTableWords = 128 * (kRealRows ? kRealAt + 4 : kOuterAt + kOuterVectors);

  // The ring is refilled an item behind the stores where it has room for that, so that nobody waits for them.
  static_assert(ring >= 2);
  static constexpr int kLag = ring > 2 ? 1 : 0;
  static constexpr bool kSpectrumInRegisters = radix <= 2;
  // Rows of a slab: two of u, later of y, whatever an item has; then those of the gates.
  static constexpr int kItemRows = kPair ? 2 : 1;
  static constexpr int kPregateRow = 2, kPostgateRow = kPregateRow + kItemRows;
  static constexpr int kSlabBytes = (gated ? kPostgateRow + kItemRows : 2) * kRowBytes;
  static_assert(kSlabBytes % 1024 == 0, "slabs are swizzled by their addresses");
  static constexpr int kOuterBytes = 512 * kOuterVectors;
  static constexpr int kBarrierBytes = 8 * warps * ring;
  static constexpr int kSlabsBegin = (kOuterBytes + kBarrierBytes + 1023) / 1024 * 1024;
  static constexpr int kSharedBytes = kSlabsBegin + warps * ring * kSlabBytes;
};

namespace chain {

using Tiles = Tiles256;

// Lane's address of the x4 matrices (i, j) of block nr of a row: n1 = 8 i + lane % 8, chunks of 8 samples n2 = 8 j. Two
// rows are as long as a whole number of swizzled patterns.
template <class P>
DANAUS_DEVICE SharedAddress matrix_address(int row, int nr) {
  const int lane = device::lane_index(), matrix = lane / 8;
  return row / 2 * 2 * P::kRowBytes +
         swizzled(row % 2 * P::kRowBytes + 16 * (32 * nr + 2 * (8 * (matrix / 2) + lane % 8) + matrix % 2));
}

template <class P>
struct Constants {
  Matrix16 dft;
  Complex2 inner[2][2], inner_back[2][2];  // as convolve_tiles has them
  RealMatrix<2> real, real_back;           // DFT16 n1, where data is real
};

template <class P>
DANAUS_DEVICE void load_twiddle(const u32* tables, int at, Complex2 (&twiddle)[2][2]) {
  DANAUS_UNROLL
  for (int i = 0; i < 2; ++i) {
    const Words<4> w = load_lane_words(tables, at + i);
    DANAUS_UNROLL
    for (int j = 0; j < 2; ++j) twiddle[i][j] = {w[2 * j], w[2 * j + 1]};
  }
}

template <class P>
DANAUS_DEVICE void load_constants(const u32* tables, Constants<P>& c) {
  DANAUS_UNROLL
  for (int b = 0; b < 4; ++b) c.dft.block[b / 2][b % 2] = load_matrix(tables, P::kMatrixAt + b);
  load_twiddle<P>(tables, P::kInnerAt, c.inner);
  load_twiddle<P>(tables, P::kRealRows ? P::kInnerBackAt : P::kInnerAt, c.inner_back);  // symmetric without weights
  if constexpr (P::kRealRows) load_real(tables, P::kRealAt, c.real), load_real(tables, P::kRealAt + 2, c.real_back);
}

template <class P>
DANAUS_DEVICE Words<4> load_tile(SharedAddress slab, int row, int nr) {
  return device::load_matrices<4, true>(slab + matrix_address<P>(row, nr));
}

template <class P>
DANAUS_DEVICE void apply_gate(SharedAddress slab, int row, int nr, Words<4>& re, Words<4>& im) {
  const auto apply = [=](int gate_row, Words<4>& words) {
    const Words<4> gate = load_tile<P>(slab, gate_row, nr);
    DANAUS_UNROLL
    for (int m = 0; m < 4; ++m) words[m] = device::mul2<P::kType>(words[m], gate[m]);
  };
  apply(row, re);
  if constexpr (P::kPair) apply(row + 1, im);
}

// DFT16 n1 of one block of real samples.
template <class P>
DANAUS_DEVICE void transform_real_rows(const Words<4>& re, const Constants<P>& c, Tiles& x) {
  DANAUS_UNROLL
  for (int i = 0; i < 2; ++i) {
    DANAUS_UNROLL
    for (int j = 0; j < 2; ++j) x[i][j] = real_from_right<P::kType, 2>(c.real, i, {re[j], re[2 + j]});
  }
}

// The real part of the inverse, or the imaginary one.
template <class P>
DANAUS_DEVICE void real_rows_back(const Tiles& x, const Constants<P>& c, bool imaginary, Words<4>& out) {
  DANAUS_UNROLL
  for (int i = 0; i < 2; ++i)
    real_from_left<P::kType, 2>(c.real_back, i, {x[0][0], x[1][0]}, {x[0][1], x[1][1]}, imaginary, out[2 * i],
                                out[2 * i + 1]);
}

template <class P, bool inverse>
DANAUS_DEVICE void outer_twiddles(Tiles (&x)[P::kRadix]) {
  constexpr Dtype T = P::kType;
  DANAUS_UNROLL
  for (int kr = P::kPair ? 1 : 0; kr < P::kRadix; ++kr) {
    DANAUS_UNROLL
    for (int i = 0; i < 2; ++i) {
      const Words<4> w = device::load_shared<16>(512 * (2 * kr + i) + 16 * device::lane_index());
      DANAUS_UNROLL
      for (int j = 0; j < 2; ++j) x[kr][i][j] = times<T, inverse>(x[kr][i][j], {w[2 * j], w[2 * j + 1]});
    }
  }
}

// The radix over blocks, from samples to tiles: of real samples with the weights of the right angle.
template <class P>
DANAUS_DEVICE void transform_blocks(const Words<4> (&re)[P::kRadix], const Words<4> (&im)[P::kRadix],
                                    Tiles (&x)[P::kRadix]) {
  DANAUS_UNROLL
  for (int m = 0; m < 4; ++m) {
    u32 re_of[P::kRadix], im_of[P::kRadix];
    Complex2 z[P::kRadix];
    DANAUS_UNROLL
    for (int nr = 0; nr < P::kRadix; ++nr) re_of[nr] = re[nr][m], im_of[nr] = im[nr][m];
    samples_to_radix<P::kType, P::kPair>(re_of, im_of, z);
    DANAUS_UNROLL
    for (int kr = 0; kr < P::kRadix; ++kr) x[kr][m / 2][m % 2] = z[kr];
  }
}

// The inverse; of the right angle the imaginary part is that of the convolution's tail.
template <class P>
DANAUS_DEVICE void transform_blocks_back(const Tiles (&x)[P::kRadix], bool tail, Words<4> (&re)[P::kRadix],
                                         Words<4> (&im)[P::kRadix]) {
  DANAUS_UNROLL
  for (int m = 0; m < 4; ++m) {
    Complex2 z[P::kRadix];
    DANAUS_UNROLL
    for (int kr = 0; kr < P::kRadix; ++kr) z[kr] = x[kr][m / 2][m % 2];
    u32 re_of[P::kRadix], im_of[P::kRadix] = {};
    radix_to_samples<P::kType, P::kPair>(z, tail, re_of, im_of);
    DANAUS_UNROLL
    for (int nr = 0; nr < P::kRadix; ++nr) re[nr][m] = re_of[nr], im[nr][m] = im_of[nr];
  }
}

}  // namespace chain

template <class P, Path path = Path::any>
DANAUS_DEVICE void fused_chain(const FusedArguments& a) {
  using namespace chain;
  constexpr Dtype T = P::kType;
  constexpr int r = P::kRadix;
  const int warp = device::warp_index(), lane = device::lane_index();
  const bool tensor = path == Path::any ? a.transfer == Transfer::tensor : path == Path::tensor;
  const bool leader = lane == 0;  // issues the tensor copies
  const bool wrap = !P::kPair && path != Path::tensor && a.wrap;
  const ItemRange items = even_share(0, static_cast<long long>(groups_of_rows<P>(a)) * a.channels,
                                     device::block_index() * P::kWarps + warp, device::block_count() * P::kWarps);
  const int first = items.first, last = first + items.count;

  // Outer twiddles into shared memory, barriers, constants into registers.
  if constexpr (P::kOuterNeeded)
    for (int i = device::thread_index(); i < 32 * P::kOuterVectors; i += P::kThreads)
      device::store_shared<16>(16 * i, device::load_global<16>(a.tables + 128 * P::kOuterAt + 4 * i));
  const SharedAddress barriers = P::kOuterBytes + 8 * P::kRing * warp;
  const SharedAddress slabs = P::kSlabsBegin + warp * P::kRing * P::kSlabBytes;
  if (leader && tensor)
    for (int i = 0; i < P::kRing; ++i) device::barrier_init(barriers + 8 * i, 1);
  device::fence_async();
  device::sync_block();

  Constants<P> c;
  load_constants(a.tables, c);
  device::let_next_grid_begin();
  device::wait_for_previous_grid();
  int fetched = first, fetch_place = 0;  // the item and the place that are loaded next
  Item fetch_item = item_at<P>(a, first);
  const auto fetch = [&] {
    if (fetched < last && (!tensor || leader)) {
      const SharedAddress slab = slabs + fetch_place * P::kSlabBytes, barrier = barriers + 8 * fetch_place;
      if (tensor) {
        const int tensors = 1 + (P::kGated && a.pregate) + (P::kGated && a.postgate);
        device::barrier_expect(barrier, tensors * P::kItemRows * P::kRowBytes);
      }
      const auto fetch_rows = [&](const TensorMap& map, const void* rows, int row) {
        fetch_slab<P, WarpWorker>(a, tensor, map, rows, fetch_item, 0, slab + row * P::kRowBytes, barrier);
      };
      fetch_rows(a.u_map, a.u, 0);
      if constexpr (P::kGated) {
        if (a.pregate) fetch_rows(a.pregate_map, a.pregate, P::kPregateRow);
        if (a.postgate) fetch_rows(a.postgate_map, a.postgate, P::kPostgateRow);
      }
      advance<P>(a, fetch_item);
      ++fetched;
      if (++fetch_place == P::kRing) fetch_place = 0;
    }
    device::copy_async_commit();
  };
  for (int i = 0; i < P::kRing - 1 - P::kLag; ++i) fetch();

  Words<4> held[r][2];
  int held_channel = -1;
  Item item = item_at<P>(a, first);
  int place = 0;
  u32 parity = 0;
  for (int number = first; number < last; ++number) {
    const SharedAddress slab = slabs + place * P::kSlabBytes;
    const u32* spectrum = a.spectrum + static_cast<long long>(item.channel) * P::kSize;
    if (P::kSpectrumInRegisters && item.channel != held_channel) {
      held_channel = item.channel;
      DANAUS_UNROLL
      for (int kr = 0; kr < r; ++kr) {
        DANAUS_UNROLL
        for (int i = 0; i < 2; ++i) held[kr][i] = load_lane_words(spectrum, 2 * kr + i);
      }
    }
    if (tensor) {
      device::barrier_wait(barriers + 8 * place, parity);
    } else {
      device::copy_async_wait<P::kRing - 2 - P::kLag>();
      device::sync_warp();
    }

    Words<4> re[r], im[r] = {};  // four tiles each
    DANAUS_UNROLL
    for (int nr = 0; nr < r; ++nr) {
      re[nr] = load_tile<P>(slab, 0, nr);
      if constexpr (P::kPair) im[nr] = load_tile<P>(slab, 1, nr);
      if constexpr (P::kGated)
        if (a.pregate) apply_gate<P>(slab, P::kPregateRow, nr, re[nr], im[nr]);
    }

    // A place is free once the store from it has been read: refill the one that an earlier item left.
    if (tensor && leader) device::store_wait_read<P::kLag>();
    if (!tensor) device::sync_warp();
    fetch();

    Tiles x[r];
    if constexpr (P::kRealRows) {
      transform_real_rows<P>(re[0], c, x[0]);
    } else {
      transform_blocks<P>(re, im, x);
      if constexpr (P::kOuterNeeded) outer_twiddles<P, false>(x);
    }
    DANAUS_UNROLL
    for (int kr = 0; kr < r; ++kr) {
      if constexpr (!P::kRealRows) {
        DANAUS_UNROLL
        for (int j = 0; j < 2; ++j) from_right<T, false>(c.dft, x[kr][0][j], x[kr][1][j]);
      }
      if constexpr (P::kSpectrumInRegisters)
        convolve_tiles<T>(x[kr], c.dft, c.inner, c.inner_back, held[kr]);
      else
        convolve_tiles<T>(x[kr], c.dft, c.inner, c.inner_back,
                          {load_spectrum<P::kCache>(spectrum, 2 * kr), load_spectrum<P::kCache>(spectrum, 2 * kr + 1)});
      if constexpr (!P::kRealRows) from_left<T, true>(c.dft, x[kr][0][0], x[kr][1][0], x[kr][0][1], x[kr][1][1]);
    }
    if constexpr (P::kRealRows) {
      real_rows_back<P>(x[0], c, false, re[0]);
      if (wrap) real_rows_back<P>(x[0], c, true, im[0]);
    } else {
      if constexpr (P::kOuterNeeded) outer_twiddles<P, true>(x);
      transform_blocks_back<P>(x, wrap, re, im);
    }

    DANAUS_UNROLL
    for (int nr = 0; nr < r; ++nr) {
      if constexpr (P::kGated)
        if (a.postgate && !wrap) apply_gate<P>(slab, P::kPostgateRow, nr, re[nr], im[nr]);
      device::store_matrices<4, true>(slab + matrix_address<P>(0, nr), re[nr]);
      if (P::kPair || wrap) device::store_matrices<4, true>(slab + matrix_address<P>(1, nr), im[nr]);
    }
    device::fence_async();
    device::sync_warp();
    if (!tensor && wrap)
      store_wrapped<P, WarpWorker, T>(a, item, [&](int, int row) { return slab + row * P::kRowBytes; });
    else if (!tensor || leader)
      store_slab<P, WarpWorker>(a, tensor, item, 0, slab);
    device::sync_warp();
    advance<P>(a, item);
    if (++place == P::kRing) place = 0, parity ^= 1;
  }
  if (tensor && leader) device::store_wait_read<0>();  // they read this block's shared memory
}

}  // namespace danaus::inline DANAUS_BACKEND
