// The fused kernels that exist: one table, read by the plan, the tests, the benchmark and `danaus list`.
//
// A split is a way of computing N. Its line stands for a variant in each dtype, fold and gating, tuned for devices with
// 227 KB of shared memory a block (sm_90). Where a device has less, ring and blocks per SM shrink until the block fits,
// and a chain's warps too (kernels/instances.hpp); a split that cannot shrink so far has no variant there.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/geometry.hpp"

namespace danaus {

// How a launch spreads over the device: as many blocks as run at once, or a block for each channel, which then loads
// its spectrum once and starts out of step with its neighbours. Few channels get the former in any case.
enum class Grid { persistent, per_channel };

struct Tuning {
  int warps;          // of a block
  int ring;           // slabs of shared memory: of each warp in a chain, of the block in an exchange
  int blocks_per_sm;  // what registers and shared memory are limited for
  int gates = 0;      // exchange, gated: slabs of the ring of gates; 0 where threads apply them (no tensor copies)
  bool operator==(const Tuning&) const = default;
};

// What a split is the choice for where the caller makes none. Gates and types shift what binds a kernel, and with it the
// best split of some sizes.
struct Preference {
  bool f16 = false, f16_gated = false, bf16 = false, bf16_gated = false;
};
inline constexpr Preference kAlways = {true, true, true, true}, kNever = {};

struct Split {
  Algorithm algorithm;
  int radix, columns;  // as in Geometry
  Preference preferred;
  Grid grid;
  Tuning f16, f16_gated;
  Tuning bf16 = f16, bf16_gated = f16_gated;

  constexpr int size() const { return algorithm == Algorithm::chain ? 256 * radix : 64 * radix * columns; }
  constexpr Tuning tuning(Dtype dtype, bool gated) const {
    return dtype == Dtype::f16 ? (gated ? f16_gated : f16) : (gated ? bf16_gated : bf16);
  }
  constexpr bool preferred_for(Dtype dtype, bool gated) const {
    return dtype == Dtype::f16 ? (gated ? preferred.f16_gated : preferred.f16)
                               : (gated ? preferred.bf16_gated : preferred.bf16);
  }
};

constexpr Split chain_split(int radix, Preference preferred, Tuning plain, Tuning gated) {
  return {Algorithm::chain, radix, 256, preferred, Grid::persistent, plain, gated};
}
constexpr Split exchange_split(int radix, int columns, Preference preferred, Tuning plain, Tuning gated, Grid grid) {
  return {Algorithm::exchange, radix, columns, preferred, grid, plain, gated};
}

// Measured on an H200 with B=64, H=768: the fastest of the rings and blocks that fit, for each line.
// clang-format off
inline constexpr std::array kSplits = {
    //             r  columns            {warps, ring, blocks, gates}
    //                                    plain         gated
    chain_split(   1,      kAlways,      {8, 3, 4},    {8, 2, 4}),                            //   256
    chain_split(   2,      kAlways,      {8, 4, 2},    {8, 2, 2}),                            //   512
    exchange_split(1,   8, kNever,       {1, 4, 12},   {1, 3, 10, 2},  Grid::persistent),
    chain_split(   3,      kAlways,      {8, 4, 2},    {8, 2, 2}),                            //   768
    exchange_split(1,  16, kAlways,      {2, 4, 8},    {2, 3, 8, 3},   Grid::persistent),     //  1024
    chain_split(   4,      kNever,       {8, 3, 2},    {8, 2, 1}),
    chain_split(   6,      kAlways,      {8, 4, 1},    {4, 2, 1}),                            //  1536
    exchange_split(3,   8, kNever,       {1, 3, 7},    {1, 3, 5, 2},   Grid::persistent),
    exchange_split(1,  32, kAlways,      {4, 4, 4},    {4, 4, 4, 2},   Grid::persistent),     //  2048
    exchange_split(2,  16, kNever,       {2, 4, 4},    {2, 3, 4, 2},   Grid::persistent),
    chain_split(   8,      kNever,       {8, 3, 1},    {4, 2, 1}),
    exchange_split(3,  16, kAlways,      {2, 3, 4},    {2, 3, 3, 2},   Grid::persistent),     //  3072
    exchange_split(1,  64, kAlways,      {8, 4, 2},    {8, 3, 2, 2},   Grid::per_channel),    //  4096
    exchange_split(2,  32, kNever,       {4, 4, 2},    {4, 3, 2, 2},   Grid::per_channel),
    exchange_split(3,  32, kAlways,      {4, 3, 2},    {4, 2, 2, 1},   Grid::persistent),     //  6144
    exchange_split(2,  64, {.f16 = true, .f16_gated = true},
                                         {8, 3, 2},    {8, 2, 2, 1},   Grid::per_channel),    //  8192
    exchange_split(1, 128, {.bf16 = true, .bf16_gated = true},
                                         {8, 6, 2},    {8, 4, 2, 2},   Grid::per_channel),
    exchange_split(1, 192, kAlways,      {8, 6, 2},    {8, 4, 2, 3},   Grid::per_channel),    // 12288
    exchange_split(3,  64, kNever,       {8, 4, 1},    {8, 3, 1, 1},   Grid::per_channel),
    exchange_split(2, 128, {.f16 = true, .bf16 = true},
                                         {16, 5, 1},   {16, 4, 1, 2},  Grid::per_channel),    // 16384
    exchange_split(1, 256, {.f16_gated = true, .bf16_gated = true},
                                         {16, 12, 1},  {16, 8, 1, 4},  Grid::per_channel),
    exchange_split(2, 192, kAlways,      {8, 6, 1},    {8, 4, 1, 2},   Grid::per_channel),    // 24576
    exchange_split(3, 128, kNever,       {16, 4, 1},   {16, 3, 1},     Grid::per_channel),
    exchange_split(2, 256, kAlways,      {16, 6, 1},   {16, 5, 1, 2},  Grid::per_channel),    // 32768
    exchange_split(4, 128, kNever,       {16, 3, 1},   {16, 3, 1},     Grid::per_channel),
};
// clang-format on

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
  Grid grid;
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

// One word: the kernel, its split and what tells it from others of the split; exchange_64x128_f16_pair_w8_ring6.
std::string name(const Variant& variant);

// Roundings that a sample goes through on its way from u to y, gates aside; what bound_l2_of_roundings() takes.
int roundings(const Geometry& geometry);

}  // namespace danaus
