// The fused kernels that exist: one table, read by the plan, the tests, the benchmark and `danaus list`.
//
// A split is a way of computing N. Its line stands for a variant in each dtype, fold and gating, tuned for devices with
// 227 KB of shared memory a block (sm_90). Where a device has less, ring and blocks per SM shrink until the block fits,
// and a chain's warps too (kernels/instances.hpp); a split that cannot shrink so far has no variant there.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/geometry.hpp"

namespace danaus {

struct Tuning {
  int warps = 0;  // of a block
  int ring = 0;   // slabs of shared memory: of each warp in a chain, of the block in an exchange, where those of
                  // the right angle may be half as large (kernels/exchange/shape.hpp)
  int blocks_per_sm = 0;  // what registers and shared memory are limited for
  int gates = 0;          // exchange, gated: slabs of the ring of gates; 0 where threads apply them (no tensor copies)
  bool spectrum = false;  // exchange: shared memory holds the channel's spectrum
  bool table = true;      // exchange: and the table of step B; else L1 does, so that more blocks or slabs fit
  bool operator==(const Tuning&) const = default;
};

// The eight kinds of a variant, as a set of bits: a split may be the best for some of them only.
constexpr unsigned kind(Dtype dtype, Fold fold, bool gated) {
  return 1u << ((dtype == Dtype::bf16) + 2 * gated + 4 * (fold == Fold::right_angle));
}
inline constexpr unsigned kAll = 0xff, kNone = 0, kCausal = 0xf0;
inline constexpr unsigned kF16Pair = kind(Dtype::f16, Fold::pair, false);
inline constexpr unsigned kF16Ungated = kF16Pair | kind(Dtype::f16, Fold::right_angle, false);
inline constexpr unsigned kBf16Pair = kind(Dtype::bf16, Fold::pair, false);
inline constexpr unsigned kBf16Ungated = kBf16Pair | kind(Dtype::bf16, Fold::right_angle, false);
inline constexpr unsigned kGatedPair = kind(Dtype::f16, Fold::pair, true) | kind(Dtype::bf16, Fold::pair, true);

struct Tunings {
  Tuning plain = {}, gated = {};          // pair
  Tuning causal = {}, gated_causal = {};  // right angle

  constexpr Tuning of(Fold fold, bool with_gates) const {
    return fold == Fold::pair ? (with_gates ? gated : plain) : with_gates ? gated_causal : causal;
  }
};

struct Split {
  Algorithm algorithm;
  int radix, columns;  // as in Geometry
  unsigned preferred;  // kinds that it is the choice for where the caller makes none
  Tunings f16, bf16;

  constexpr int size() const { return algorithm == Algorithm::chain ? 256 * radix : 64 * radix * columns; }
  constexpr Tuning tuning(Dtype dtype, Fold fold, bool gated) const {
    return (dtype == Dtype::f16 ? f16 : bf16).of(fold, gated);
  }
};

// Tunings that are left out: of the right angle, those of the pair; of bf16, those of f16.
constexpr Tuning or_else(Tuning tuning, Tuning other) { return tuning.warps > 0 ? tuning : other; }
constexpr Split split(Algorithm algorithm, int radix, int columns, unsigned preferred, Tunings f16, Tunings bf16) {
  f16.causal = or_else(f16.causal, f16.plain);
  f16.gated_causal = or_else(f16.gated_causal, f16.gated);
  bf16 = {or_else(bf16.plain, f16.plain), or_else(bf16.gated, f16.gated), or_else(bf16.causal, f16.causal),
          or_else(bf16.gated_causal, f16.gated_causal)};
  return {algorithm, radix, columns, preferred, f16, bf16};
}
constexpr Split chain_split(int radix, unsigned preferred, Tuning plain, Tuning gated, Tuning causal = {},
                            Tuning gated_causal = {}, Tunings bf16 = {}) {
  return split(Algorithm::chain, radix, 256, preferred, {plain, gated, causal, gated_causal}, bf16);
}
constexpr Split exchange_split(int radix, int columns, unsigned preferred, Tuning plain, Tuning gated,
                               Tuning causal = {}, Tuning gated_causal = {}, Tunings bf16 = {}) {
  return split(Algorithm::exchange, radix, columns, preferred, {plain, gated, causal, gated_causal}, bf16);
}

// Measured on an H200 with B=64, H=768: the fastest of the rings and blocks that fit, for each line. Those that are
// preferred for nothing are there to be compared with: they are compiled where the CMake option DANAUS_STUDY is on, and
// have rings and blocks that fit.
// clang-format off
inline constexpr bool kHeld = true;  // the spectrum, by shared memory
inline constexpr bool kL1 = false;   // step B's table, not by shared memory
inline constexpr std::array kTable = {
    //    N                       r, columns, preferred for          {warps, ring, blocks, gates, spectrum, table}
    //                                                               plain                       gated                       causal                      gated causal
    /*   256 */ chain_split(   1,      kAll,                  {8, 4, 3},                  {8, 2, 3},                  {20, 4, 1}),
    /*   512 */ chain_split(   2,      kAll,                  {8, 3, 2},                  {8, 2, 2},                  {20, 3, 1},                 {},
                  /* bf16: */ {.causal = {12, 3, 1}}),
                exchange_split(1,   8, kNone,                 {1, 2, 16, 0, kHeld},       {1, 3, 10, 2}),
    /*   768 */ chain_split(   3,      kAll,                  {12, 3, 1},                 {12, 2, 1},                 {16, 3, 1}),
    /*  1024 */ exchange_split(1,  16, kAll & ~kBf16Ungated,  {2, 2, 8, 0, kHeld},        {2, 3, 8, 2, kHeld},        {},                         {2, 2, 8, 2, kHeld}),
                chain_split(   4,      kBf16Ungated,          {8, 3, 1},                  {8, 2, 1},                  {12, 4, 1}),
                exchange_split(2,   8, kNone,                 {1, 2, 12},                 {1, 3, 7, 2}),
    /*  1536 */ chain_split(   6,      kAll,                  {8, 3, 1},                  {4, 2, 1},                  {12, 2, 1},                 {4, 2, 2}),
                exchange_split(3,   8, kNone,                 {1, 2, 8},                  {1, 3, 5, 2}),
    /*  2048 */ exchange_split(1,  32, kAll,                  {4, 2, 4, 0, kHeld},        {4, 3, 4, 2, kHeld},        {4, 4, 4},                  {4, 2, 4, 2, kHeld}),
                exchange_split(2,  16, kNone,                 {2, 2, 6, 0, kHeld},        {2, 3, 4, 2}),
                chain_split(   8,      kNone,                 {8, 3, 1},                  {4, 2, 1}),
                exchange_split(4,   8, kNone,                 {1, 2, 6},                  {1, 3, 4, 1},               {1, 2, 7}),
    /*  3072 */ exchange_split(3,  16, kAll,                  {2, 2, 4, 0, kHeld},        {2, 2, 4, 1, kHeld, kL1},   {2, 2, 5, 0, kHeld, kL1},   {2, 2, 5, 1, kHeld, kL1},
                  /* bf16: */ {.causal = {2, 2, 4, 0, kHeld}, .gated_causal = {2, 2, 4, 2, kHeld}}),
                exchange_split(6,   8, kNone,                 {1, 2, 4},                  {1, 3, 3, 1},               {1, 4, 4}),
    /*  4096 */ exchange_split(2,  32, kAll,                  {4, 2, 3, 0, kHeld},        {4, 3, 2, 2, kHeld},        {4, 2, 4, 0, kHeld},        {4, 3, 3, 2, kHeld}),
                exchange_split(1,  64, kNone,                 {8, 5, 2, 0, kHeld},        {8, 3, 2, 2, kHeld}),
                exchange_split(4,  16, kNone,                 {2, 2, 4},                  {2, 2, 3, 1},               {2, 3, 4}),
    /*  6144 */ exchange_split(3,  32, kAll,                  {4, 2, 3, 0, kHeld, kL1},   {4, 2, 2, 1, kHeld},        {4, 2, 3, 0, kHeld},        {4, 3, 2, 2, kHeld},
                  /* bf16: */ {.causal = {4, 2, 3, 0, kHeld, kL1}}),
                exchange_split(6,  16, kNone,                 {2, 2, 3},                  {2, 2, 2, 1},               {2, 3, 3}),
    /*  8192 */ exchange_split(2,  64, kAll,                  {8, 2, 2, 0, kHeld},        {8, 2, 2, 1, !kHeld, kL1},  {},                         {8, 2, 2, 1, kHeld},
                  /* bf16: */ {.gated = {8, 2, 2, 1}}),
                exchange_split(1, 128, kNone,                 {8, 4, 2, 0, kHeld},        {8, 4, 2, 2}),
                exchange_split(4,  32, kNone,                 {4, 2, 2, 0, kHeld},        {4, 2, 2, 1}),
    /* 12288 */ exchange_split(1, 192, kAll,                  {8, 6, 2},                  {8, 4, 2, 3},               {},                         {8, 6, 2, 3}),
                exchange_split(3,  64, kNone,                 {8, 3, 1, 0, kHeld},        {8, 3, 1, 1}),
                exchange_split(6,  32, kNone,                 {4, 2, 1, 0, kHeld},        {4, 3, 1, 1}),
    /* 16384 */ exchange_split(2, 128, kCausal | kBf16Pair,   {16, 4, 1, 0, kHeld},       {8, 2, 2, 1},               {16, 4, 1, 0, kHeld},       {},
                  /* bf16: */ {.causal = {8, 4, 2}}),
                exchange_split(1, 256, kGatedPair,            {16, 12, 1},                {16, 8, 1, 4}),
                exchange_split(4,  64, kF16Pair,              {8, 2, 1, 0, kHeld},        {8, 2, 1, 1}),
    /* 24576 */ exchange_split(2, 192, kAll & ~kF16Ungated,   {8, 6, 1},                  {8, 4, 1, 2},               {8, 7, 1},                  {8, 5, 1, 3},
                  /* bf16: */ {.plain = {8, 6, 1, 0, !kHeld, kL1}}),
                exchange_split(1, 384, kNone,                 {8, 12, 1},                 {8, 8, 1, 4}),
                exchange_split(3, 128, kF16Ungated,           {16, 4, 1},                 {16, 3, 1},                 {16, 4, 1, 0, !kHeld, kL1}),
                exchange_split(6,  64, kNone,                 {8, 2, 1},                  {8, 2, 1}),
    /* 32768 */ exchange_split(2, 256, kAll,                  {16, 7, 1, 0, !kHeld, kL1}, {16, 5, 1, 2, !kHeld, kL1}, {16, 8, 1, 0, !kHeld, kL1}, {16, 6, 1, 4, !kHeld, kL1}),
                exchange_split(4, 128, kNone,                 {8, 3, 1, 0, !kHeld, kL1},  {8, 3, 1, 0, !kHeld, kL1}),
                exchange_split(1, 512, kNone,                 {8, 14, 1, 0, !kHeld, kL1}, {8, 10, 1, 4, !kHeld, kL1}),
};
// clang-format on

// Those of this build.
inline constexpr auto kSplits = [] {
  constexpr auto compiled = [](const Split& split) { return DANAUS_STUDY || split.preferred != kNone; };
  std::array<Split, std::count_if(kTable.begin(), kTable.end(), compiled)> splits{};
  std::copy_if(kTable.begin(), kTable.end(), splits.begin(), compiled);
  return splits;
}();

// Devices are told apart by the shared memory that a block can have.
struct DeviceClass {
  std::string_view devices;
  int block_bytes;  // of shared memory, at most
  int sm_bytes;     // of all blocks of an SM together, each with kReservedBytes more than it asks for
};
inline constexpr int kReservedBytes = 1024;
inline constexpr std::array kDeviceClasses = {
    DeviceClass{"H100, H200, B200", 227 * 1024, 228 * 1024},
    DeviceClass{"A100", 163 * 1024, 164 * 1024},
    DeviceClass{"RTX", 99 * 1024, 100 * 1024},
};

// Runs the kernel in the calling thread of the executor; `arguments` are FusedArguments of the host.
using HostKernel = void (*)(const void* arguments);

// Kernels for cudaLaunchKernel, null where the build has no CUDA: with bulk tensor copies, and without.
struct CudaKernels {
  const void* tensor = nullptr;
  const void* threads = nullptr;
};

struct Variant {
  Geometry geometry;
  bool gated;  // takes gates, either or both
  bool preferred;
  Tuning tuning;
  unsigned classes;  // bit i: the variant of its split for kDeviceClasses[i]
  int slabs;         // of an item
  int threads;
  int shared_bytes;
  int table_words;
  HostKernel host;
  CudaKernels cuda = {};

  int size() const { return geometry.size(); }
  bool suits(int device_class) const { return classes >> device_class & 1; }
};

// All of them, by N and in the order of the table.
std::span<const Variant> variants();

// One word: the kernel, its split and what tells it from others of the split; exchange_64x128_f16_pair_w8_ring6_x2.
std::string name(const Variant& variant);

// Roundings that a sample goes through on its way from u to y, gates aside; what bound_l2_of_roundings() takes.
int roundings(const Geometry& geometry);

}  // namespace danaus
