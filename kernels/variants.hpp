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
  bool operator==(const Tuning&) const = default;
};

struct Split {
  Algorithm algorithm;
  int radix, columns;  // as in Geometry
  bool preferred;      // the choice for its N where the caller makes none
  Grid grid;
  Tuning f16, f16_gated;
  Tuning bf16 = f16, bf16_gated = f16_gated;

  constexpr int size() const { return algorithm == Algorithm::chain ? 256 * radix : 64 * radix * columns; }
  constexpr Tuning tuning(Dtype dtype, bool gated) const {
    return dtype == Dtype::f16 ? (gated ? f16_gated : f16) : (gated ? bf16_gated : bf16);
  }
};

constexpr Split chain_split(bool preferred, int radix, Tuning plain, Tuning gated) {
  return {Algorithm::chain, radix, 256, preferred, Grid::persistent, plain, gated};
}
constexpr Split exchange_split(bool preferred, int radix, int columns, Tuning plain, Tuning gated, Grid grid) {
  return {Algorithm::exchange, radix, columns, preferred, grid, plain, gated};
}

inline constexpr bool kPreferred = true, kAlternative = false;

// clang-format off
inline constexpr std::array kSplits = {
    //                     r  columns  {warps, ring, blocks}
    //                                 plain         gated
    chain_split(kPreferred,      1,          {8, 3, 4},    {8, 3, 2}),                        //   256
    chain_split(kPreferred,      2,          {8, 4, 2},    {8, 2, 2}),                        //   512
    exchange_split(kAlternative, 1,   8,     {1, 4, 14},   {1, 4, 8},   Grid::persistent),
    chain_split(kPreferred,      3,          {8, 4, 2},    {8, 2, 2}),                        //   768
    exchange_split(kPreferred,   1,  16,     {2, 4, 8},    {2, 4, 8},   Grid::persistent),    //  1024
    chain_split(kAlternative,    4,          {8, 3, 2},    {8, 2, 1}),
    chain_split(kPreferred,      6,          {8, 4, 1},    {4, 2, 1}),                        //  1536
    exchange_split(kAlternative, 3,   8,     {1, 3, 8},    {1, 3, 8},   Grid::persistent),
    exchange_split(kPreferred,   1,  32,     {4, 4, 4},    {4, 4, 4},   Grid::persistent),    //  2048
    exchange_split(kAlternative, 2,  16,     {2, 4, 4},    {2, 4, 4},   Grid::persistent),
    chain_split(kAlternative,    8,          {8, 3, 1},    {4, 2, 1}),
    exchange_split(kPreferred,   3,  16,     {2, 3, 4},    {2, 3, 4},   Grid::persistent),    //  3072
    exchange_split(kPreferred,   1,  64,     {8, 4, 2},    {8, 4, 2},   Grid::per_channel),   //  4096
    exchange_split(kAlternative, 2,  32,     {4, 4, 2},    {4, 4, 2},   Grid::per_channel),
    exchange_split(kPreferred,   3,  32,     {4, 3, 2},    {4, 3, 2},   Grid::persistent),    //  6144
    exchange_split(kPreferred,   2,  64,     {8, 3, 2},    {8, 3, 2},   Grid::persistent),    //  8192
    exchange_split(kAlternative, 1, 128,     {8, 6, 2},    {8, 6, 2},   Grid::per_channel),
    exchange_split(kPreferred,   1, 192,     {8, 6, 2},    {8, 6, 2},   Grid::per_channel),   // 12288
    exchange_split(kAlternative, 3,  64,     {8, 4, 1},    {8, 4, 1},   Grid::per_channel),
    exchange_split(kPreferred,   1, 256,     {16, 12, 1},  {16, 12, 1}, Grid::persistent),    // 16384
    exchange_split(kAlternative, 2, 128,     {16, 6, 1},   {16, 6, 1},  Grid::per_channel),
    exchange_split(kPreferred,   2, 192,     {8, 7, 1},    {8, 7, 1},   Grid::per_channel),   // 24576
    exchange_split(kAlternative, 3, 128,     {16, 4, 1},   {16, 4, 1},  Grid::per_channel),
    exchange_split(kPreferred,   2, 256,     {16, 7, 1},   {16, 7, 1},  Grid::per_channel),   // 32768
    exchange_split(kAlternative, 4, 128,     {16, 3, 1},   {16, 3, 1},  Grid::per_channel),
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
