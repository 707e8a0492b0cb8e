// The work of programs of several launches, counted by a few blocks and items, against all of it.
#include "kernels/cpu/program_work.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>

#include "kernels/cpu/machine.hpp"
#include "kernels/executor/aligned.hpp"
#include "kernels/families/rescaled/family.hpp"
#include "kernels/plan/plan.hpp"
#include "tests/sanitized.hpp"

namespace danaus {
namespace {

using ByKernel = std::map<KernelId, host::Counters>;

// All of it, with so many blocks at once.
ByKernel execute_whole(const Case& asked, const Device& device, int blocks) {
  ByKernel counted;
  Plan plan(asked, executor_machine({.device = device,
                                     .blocks = blocks,
                                     .observer = [&](const Launch& launch, const host::Counters& counters) {
                                       counted[launch.kernel] += counters;
                                     }}));
  std::vector<host::AlignedArray<std::byte>> memory;
  std::vector<Buffer> filters, others;
  for (const Array& array : asked.arrays())
    (array.role == Role::filter ? filters : others)
        .emplace_back(array.name, memory.emplace_back(bytes(array.dtype) * array.size()).all());
  plan.prepare(filters);
  plan.execute(others);
  return counted;
}

ByKernel count_parts(const Case& asked, const Device& device, int blocks) {
  ByKernel counted;
  for (const LaunchWork& launch : count_program(asked, device, blocks).launches)
    for (int i = 0; i < launch.times; ++i) counted[launch.id] += launch.counters;
  return counted;
}

// More items than are executed, of each kind of launch: products are as many, all else is nearly so.
TEST(ProgramWork, OfAProgramIsThatOfItsLaunches) {
  for (const char* token :
       unless_sanitized({"spectral_f32_tf32_complex_b20_c16x20_l32_m8_shared",
                         "spectral_f16_complex_b7_c16x5_l64_m64_shared",           // items in turn, tables first
                         "spectral_f32_tf32_complex_b140_c32x20_l64_m20_shared",   // items in turn by teams
                         "spectral_f32_tf32_complex_b40_c16x9_l64_m20",            // columns of items
                         "shortconvgrad_bf16_causal_k40_l600_b3_h4_bias_pregate",  // taps and sums
                         "ssmconv_f16_s10_l3000_b20_h1_final",                     // chunks
                         "ssmconv_bf16_s16_l2100_b1_h1_initial_final",             // and parts of rows
                         "fftconvgrad_f16_circular_l256_b40_h8_pregate_postgate",  // sums by warps
                         "fftconvgrad_bf16_causal_l1000_b11_h9",                   // sums by blocks
                         "fftconvgrad_f16_causal_l1001_b21_h2_postgate",           // rows of all alignments
                         "fftconvstep_f16_circular_l512_b6_h20_pregate",           // and the filters' transform
                         "fftconvgrad_f16_causal_l16384_b5_h2",                    // sums by clusters
                         "fftconv_f16_circular_l65536_b8_h4",                      // items of clusters
                         "fftconv_bf16_circular_l49152_b8_h1"},                    // outer passes
                        9)) {
    SCOPED_TRACE(token);
    const Case asked = parse_case(token);
    const ByKernel whole = execute_whole(asked, {}, 2), counted = count_parts(asked, {}, 2);
    ASSERT_EQ(counted.size(), whole.size());
    for (const auto& [kernel, all] : whole) {
      if (kernel.family == rescaled::Family::name) continue;  // it looks twice at the silence here
      const host::Counters& parts = counted.at(kernel);
      for (const auto& [name, value] : host::kCounterFields) {
        const bool product = name.starts_with("mma");
        const bool few = value == &host::Counters::shared_conflicts;  // of all wavefronts
        const auto of = static_cast<double>(few ? all.shared_wavefronts : all.*value);
        EXPECT_NEAR(static_cast<double>(parts.*value), static_cast<double>(all.*value), product ? 0 : 0.05 * of)
            << name << " of " << kernel.family;
      }
    }
  }
}

double turns_of(const char* token, std::string_view family) {
  double turns = 0;
  for (const LaunchWork& launch : count_program(parse_case(token), {}).launches)
    if (!launch.prepares && launch.id.family == family) turns += launch.turns * static_cast<double>(launch.times);
  return turns;
}

TEST(ProgramWork, AWarpTakesATurnForEachItem) {
  EXPECT_EQ(turns_of("fftconv_f16_circular_l4096_b6_h4", "exchange"), 6 / 2 * 4 * 4) << "pairs, of four warps each";
  EXPECT_EQ(turns_of("fftconv_f16_circular_l4096_b5_h4", "exchange"), 6 / 2 * 4 * 4) << "half of the last is empty";
  EXPECT_EQ(turns_of("fftconv_f16_causal_l512_b6_h4", "chain"), 6 * 4) << "rows, each of a warp's own";
  EXPECT_EQ(turns_of("fftconvgrad_f16_circular_l256_b40_h8", "chain_gradient"), 40 / 2 * 8);
  for (const auto& [few, twice, family] :
       {std::array{"fftconv_f16_circular_l65536_b8_h4", "fftconv_f16_circular_l65536_b16_h4", "cluster"},
        std::array{"fftconv_bf16_circular_l49152_b8_h1", "fftconv_bf16_circular_l49152_b16_h1", "outer"},
        std::array{"fftconvgrad_f16_causal_l16384_b5_h2", "fftconvgrad_f16_causal_l16384_b10_h2", "exchange_gradient"},
        std::array{"ssmconv_f16_s10_l4096_b200_h2", "ssmconv_f16_s10_l8192_b200_h2", "state"},
        std::array{"spectral_f32_tf32_complex_b16_c16x16_l64_m16_shared",
                   "spectral_f32_tf32_complex_b32_c16x16_l64_m16_shared", "layer"}}) {
    EXPECT_GT(turns_of(few, family), 0) << few;
    EXPECT_EQ(turns_of(twice, family), 2 * turns_of(few, family)) << few;
  }
}

TEST(ProgramWork, LayersGoFromPhaseToPhaseTeamsWithPointsOnTheirWay) {
  const char* const kInTeams = "spectral_f32_tf32_complex_b1024_c64x64_l128_m64_shared";
  const char* const kOneItem = "spectral_f32_tf32_complex_b1_c64x64_l128_m64_shared";
  const char* const kReal = "spectral_f32_tf32_b1024_c64x64_l128_m64_shared";
  for (const char* token : {kInTeams, kOneItem, kReal}) {
    const std::vector<LaunchWork> launches = count_program(parse_case(token), {}).launches;
    const LaunchWork &weights = launches.front(), &layer = launches.back();
    EXPECT_EQ(layer.id.family, "layer") << token;
    EXPECT_TRUE(layer.phased) << token;
    EXPECT_GT(layer.waits, 0) << token;
    EXPECT_EQ(layer.ahead, token == kInTeams) << token;
    EXPECT_TRUE(weights.prepares) << token;
    EXPECT_EQ(weights.waits, 0) << token;
  }
  const std::vector<LaunchWork> launches = count_program(parse_case("fftconv_f16_circular_l4096_b2_h2"), {}).launches;
  const LaunchWork &filter = launches.front(), &convolution = launches.back();
  EXPECT_EQ(filter.id.family, "spectrum");
  EXPECT_TRUE(filter.phased);
  EXPECT_FALSE(filter.ahead);
  EXPECT_EQ(filter.waits, 0);
  EXPECT_EQ(convolution.id.family, "exchange");
  EXPECT_FALSE(convolution.phased);
}

TEST(ProgramWork, WhatStaysInL2DoesNotComeFromMemory) {
  const Case asked = parse_case("fftconv_f16_circular_l98304_b2_h3");
  const double rows = 2. * 2 * 3 * 98304, spectrum = 4. * 3 * 98304;
  const auto bytes_of_memory = [&](std::int64_t cache_bytes) {
    Device device;
    device.cache_bytes = cache_bytes;
    double sum = 0;
    for (const LaunchWork& launch : count_program(asked, device, 2).launches)
      if (!launch.prepares) sum += launch.hbm_bytes * static_cast<double>(launch.times);
    return sum;
  };
  EXPECT_EQ(bytes_of_memory(50 << 20), 2 * rows + spectrum) << "u and y";
  EXPECT_EQ(bytes_of_memory(1 << 17), 2 * rows + 4 * rows + spectrum)
      << "and planes as large, written, read, written in their place and read";
}

// Whatever lies between them.
TEST(ProgramWork, APieceMovesItsOwnBytes) {
  Device device;
  device.cache_bytes = 1 << 15;  // one copy of the spectra: each piece of all rows is a launch
  double bytes = 0;
  for (const LaunchWork& launch :
       count_program(parse_case("fftconv_f16_causal_l8192_k9_b16_h8_n1024"), device, 2).launches)
    if (!launch.prepares && launch.kernel != "pieces") bytes += launch.hbm_bytes * static_cast<double>(launch.times);
  const double rows = 2. * 2 * 16 * 8 * 8192;
  EXPECT_GT(bytes, rows);
  EXPECT_LT(bytes, 1.5 * rows);
}

// The recurrence reads poles and states of what is prepared, not the matrices of chunks.
TEST(ProgramWork, OfWhatIsPreparedWhatIsRead) {
  const ProgramWork work = count_program(parse_case("ssmconv_f16_s64_l1_b1_h64_initial_final"), {});
  const double states = 8. * 64 * 64;
  EXPECT_GT(work.launches.back().hbm_bytes, 4 * states);
  EXPECT_LT(work.launches.back().hbm_bytes, 8 * states);
  EXPECT_GT(work.prepared_bytes, 8 * states);
}

TEST(ProgramWork, OfSizesThatNoMachineHereCouldExecute) {
  Device device;
  device.multiprocessors = 132;
  const ProgramWork work = count_program(parse_case("fftconv_f16_circular_l1048576_b64_h768"), device);
  std::int64_t launches = 0;
  for (const LaunchWork& launch : work.launches) launches += launch.prepares ? 0 : launch.times;
  EXPECT_GT(launches, 3 * 100);
  // Outer passes of 64 rows and more: a pair of rows is 32 radix-8 products of 16 columns each way, at least.
  EXPECT_GT(work.sum(false).mma_f16acc + work.sum(false).mma_depth8, 64u / 2 * 768 * 1048576 / 128);
}

TEST(ProgramWork, SaysWhyThereIsNone) {
  EXPECT_FALSE(is_counted(parse_case("fftconv_f32_causal_l100_b1_h1"), {}));
  EXPECT_TRUE(is_counted(parse_case("fftconvgrad_f16_causal_l100_b1_h1"), {}));
  EXPECT_THROW(require_counted(parse_case("spectral_f32_b1_c4x257_l16_m4"), {}), std::invalid_argument);
}

TEST(ProgramWork, MeasuresWhatAPlanKeeps) {
  const Case asked = parse_case("fftconvstep_bf16_causal_l20000_b3_h2_pregate");
  const Plan plan(asked, executor_machine({}));
  const ProgramWork sizes = measure_program(asked, {});
  EXPECT_EQ(sizes.prepared_bytes, plan.prepared_bytes());
  EXPECT_EQ(sizes.constant_bytes, plan.constant_bytes());
  EXPECT_GT(sizes.workspace_bytes, 0);
}

}  // namespace
}  // namespace danaus
