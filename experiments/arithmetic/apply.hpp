// Single instructions of the kernels on operands in memory, by the operations of kernels/device/: the same source for a
// GPU and for the executor. Every operand and every output is a word of its own, of a half the lower half.
#pragma once

#include "kernels/device/warpgroup.hpp"
#include "kernels/tile/scaled.hpp"

namespace danaus::inline DANAUS_BACKEND {
namespace arithmetic {

// Products of matrices: a [rows, depth] b [depth, columns] + c [rows, columns], by one warp or, of 64 rows, by four.
enum class Product {
  f16_to_f32,
  bf16_to_f32,
  f16_to_f16,
  f16_to_f32_depth8,
  bf16_to_f32_depth8,
  f16_to_f16_depth8,
  tf32_to_f32,
  group_f16_64,
  group_bf16_64,
  group_f16_128,
  group_bf16_128,
  group_f16_64_alone,  // that does not add to c
};

struct ProductShape {
  int rows, columns, depth;
  bool f16_sums, bf16, tf32, group, adds;
};
constexpr ProductShape shape_of(Product product) {
  switch (product) {
    case Product::f16_to_f32: return {16, 8, 16, false, false, false, false, true};
    case Product::bf16_to_f32: return {16, 8, 16, false, true, false, false, true};
    case Product::f16_to_f16: return {16, 8, 16, true, false, false, false, true};
    case Product::f16_to_f32_depth8: return {16, 8, 8, false, false, false, false, true};
    case Product::bf16_to_f32_depth8: return {16, 8, 8, false, true, false, false, true};
    case Product::f16_to_f16_depth8: return {16, 8, 8, true, false, false, false, true};
    case Product::tf32_to_f32: return {16, 8, 8, false, false, true, false, true};
    case Product::group_f16_64: return {64, 64, 16, false, false, false, true, true};
    case Product::group_bf16_64: return {64, 64, 16, false, true, false, true, true};
    case Product::group_f16_128: return {64, 128, 16, false, false, false, true, true};
    case Product::group_bf16_128: return {64, 128, 16, false, true, false, true, true};
    case Product::group_f16_64_alone: return {64, 64, 16, false, false, false, true, false};
  }
  return {};
}

template <Product product>
inline constexpr ProductShape kShape = shape_of(product);  // for device code

// Operations of single threads, of up to three operands.
enum class Scalar {
  add2_f16,
  add2_bf16,
  sub2_f16,
  sub2_bf16,
  mul2_f16,
  mul2_bf16,
  fma2_f16,
  fma2_bf16,
  fms2_f16,
  fms2_bf16,
  max2_f16,
  max2_bf16,
  pack2_f16,
  pack2_bf16,
  unpack_f16,
  unpack_bf16,
  round_tf32,
  operand_tf32,
  scale_bf16,
  add_f32,
  multiply_f32,
  divide_f32,
  max_of_warp,
};

struct Operands {
  const u32 *a, *b, *c;
  u32* out;
  int items;  // matrices, or numbers
};

inline constexpr int kThreads = 128;
inline constexpr int kSharedBytes = 1024 + 128 * 128;  // B of a group, from a multiple of 1024 bytes on

DANAUS_DEVICE u32 load(const u32* from) { return device::load_global<4>(from)[0]; }
DANAUS_DEVICE u32 load_pair(const u32* from, int step) { return load(from) | load(from + step) << 16; }

template <Scalar operation>
DANAUS_DEVICE u32 apply(u32 a, u32 b, u32 c) {
  using enum Scalar;
  if constexpr (operation == add2_f16) return device::add2(a, b);
  if constexpr (operation == add2_bf16) return device::add2<Dtype::bf16>(a, b);
  if constexpr (operation == sub2_f16) return device::sub2(a, b);
  if constexpr (operation == sub2_bf16) return device::sub2<Dtype::bf16>(a, b);
  if constexpr (operation == mul2_f16) return device::mul2(a, b);
  if constexpr (operation == mul2_bf16) return device::mul2<Dtype::bf16>(a, b);
  if constexpr (operation == fma2_f16) return device::fma2(a, b, c);
  if constexpr (operation == fma2_bf16) return device::fma2<Dtype::bf16>(a, b, c);
  if constexpr (operation == fms2_f16) return device::fms2(a, b, c);
  if constexpr (operation == fms2_bf16) return device::fms2<Dtype::bf16>(a, b, c);
  if constexpr (operation == max2_f16) return device::max2(a, b);
  if constexpr (operation == max2_bf16) return device::max2<Dtype::bf16>(a, b);
  if constexpr (operation == pack2_f16) return device::pack2(float_of(a), float_of(b)) & 0xffffu;
  if constexpr (operation == pack2_bf16) return device::pack2<Dtype::bf16>(float_of(a), float_of(b)) & 0xffffu;
  if constexpr (operation == unpack_f16) return word_of(device::lower_float(a));
  if constexpr (operation == unpack_bf16) return word_of(device::lower_float<Dtype::bf16>(a));
  if constexpr (operation == round_tf32) return device::round_tf32(float_of(a)) & ~0x1fffu;
  if constexpr (operation == operand_tf32) return device::operand_tf32(float_of(a)) & ~0x1fffu;
  if constexpr (operation == scale_bf16)
    return scaled::samples_of<Dtype::bf16>(a, scaled::power_of_two(static_cast<int>(b % 254) + 1)) & 0xffffu;
  if constexpr (operation == add_f32) return word_of(float_of(a) + float_of(b));
  if constexpr (operation == multiply_f32) return word_of(float_of(a) * float_of(b));
  if constexpr (operation == divide_f32) return word_of(float_of(a) / float_of(b));
  return device::max_of_warp(a);
}

// Items are a multiple of 32.
template <Scalar operation>
DANAUS_DEVICE void run(const Operands& of) {
  const int step = kThreads * device::block_count();
  for (int i = kThreads * device::block_index() + device::thread_index(); i < of.items; i += step) {
    const u32 result = apply<operation>(load(of.a + i), load(of.b + i), load(of.c + i));
    device::store_global<4>(of.out + i, {result});
  }
}

// A warp multiplies a tile: fragments as in kernels/executor/matrices.cpp.
template <Product product>
DANAUS_DEVICE void multiply_by_warp(const Operands& of, int item) {
  constexpr ProductShape shape = kShape<product>;
  constexpr int kDepth = shape.depth, kHalves = kDepth / 8;
  const u32* const a = of.a + item * 16 * kDepth;
  const u32* const b = of.b + item * kDepth * 8;
  const u32* const c = of.c + item * 16 * 8;
  u32* const out = of.out + item * 16 * 8;
  const int g = device::lane_index() / 4, t = device::lane_index() % 4;
  const auto place = [&](int i) { return 8 * (g + 8 * (i / 2)) + 2 * t + i % 2; };
  float sums[4];
  u32 halves[2];
  for (int i = 0; i < 4; ++i) sums[i] = float_of(load(c + place(i)));
  for (int r = 0; r < 2; ++r) halves[r] = load_pair(c + place(2 * r), 1);
  if constexpr (shape.tf32) {
    u32 x[4], y[2];
    for (int r = 0; r < 4; ++r) x[r] = load(a + kDepth * (g + 8 * (r % 2)) + t + 4 * (r / 2));
    for (int r = 0; r < 2; ++r) y[r] = load(b + 8 * (t + 4 * r) + g);
    device::mma_tf32(sums, x, y);
  } else {
    u32 x[2 * kHalves], y[kHalves];
    for (int r = 0; r < 2 * kHalves; ++r) x[r] = load_pair(a + kDepth * (g + 8 * (r % 2)) + 2 * t + 8 * (r / 2), 1);
    for (int r = 0; r < kHalves; ++r) y[r] = load_pair(b + 8 * (2 * t + 8 * r) + g, 8);
    constexpr Dtype T = shape.bf16 ? Dtype::bf16 : Dtype::f16;
    if constexpr (kDepth == 8 && shape.f16_sums) device::mma_f16acc(halves, x, y[0]);
    if constexpr (kDepth == 8 && !shape.f16_sums) device::mma_f32acc<T>(sums, x, y[0]);
    if constexpr (kDepth == 16 && shape.f16_sums) device::mma_f16acc(halves, x, y);
    if constexpr (kDepth == 16 && !shape.f16_sums) device::mma_f32acc<T>(sums, x, y);
  }
  for (int i = 0; i < 4; ++i)
    device::store_global<4>(out + place(i),
                            {shape.f16_sums ? halves[i / 2] >> (16 * (i % 2)) & 0xffffu : word_of(sums[i])});
}

template <Product product>
DANAUS_DEVICE void multiply_by_group(const Operands& of, int item) {
  constexpr ProductShape shape = kShape<product>;
  constexpr int kColumns = shape.columns;
  constexpr SharedAddress kB = 1024;
  const u32* const a = of.a + item * 64 * 16;
  const u32* const b = of.b + item * 16 * kColumns;
  const u32* const c = of.c + item * 64 * kColumns;
  u32* const out = of.out + item * 64 * kColumns;
  for (int i = device::thread_index(); i < 8 * kColumns; i += kThreads) {
    const int column = i / 8, k = i % 8 * 2;
    device::store_shared<4>(kB + 128 * column + 16 * (k / 8 ^ column % 8) + 2 * (k % 8),
                            {load_pair(b + kColumns * k + column, kColumns)});
  }
  device::fence_async();
  device::sync_block();
  const int row = 16 * device::warp_index() + device::lane_index() / 4, t = device::lane_index() % 4;
  u32 x[1][4];
  for (int r = 0; r < 4; ++r) x[0][r] = load_pair(a + 16 * (row + 8 * (r % 2)) + 2 * t + 8 * (r / 2), 1);
  float sums[kColumns / 8][4];
  const auto place = [&](int j, int i) { return kColumns * (row + 8 * (i / 2)) + 8 * j + 2 * t + i % 2; };
  DANAUS_UNROLL
  for (int j = 0; j < kColumns / 8; ++j) DANAUS_UNROLL
  for (int i = 0; i < 4; ++i) sums[j][i] = float_of(load(c + place(j, i)));
  device::group_fence(sums, x);
  device::group_multiply<shape.bf16 ? Dtype::bf16 : Dtype::f16, shape.adds>(sums, x[0], kB);
  device::group_commit();
  device::group_wait<0>(sums);
  DANAUS_UNROLL
  for (int j = 0; j < kColumns / 8; ++j) DANAUS_UNROLL
  for (int i = 0; i < 4; ++i) device::store_global<4>(out + place(j, i), {word_of(sums[j][i])});
  device::sync_block();
}

template <Product product>
DANAUS_DEVICE void run(const Operands& of) {
  constexpr int kWarps = kThreads / 32;
  if constexpr (kShape<product>.group) {
    for (int item = device::block_index(); item < of.items; item += device::block_count())
      multiply_by_group<product>(of, item);
  } else {
    for (int item = kWarps * device::block_index() + device::warp_index(); item < of.items;
         item += kWarps * device::block_count())
      multiply_by_warp<product>(of, item);
  }
}

}  // namespace arithmetic
}  // namespace danaus::inline DANAUS_BACKEND
