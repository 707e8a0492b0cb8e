// Convolutions of several launches: outer passes, fused convolutions between them, filters by two passes; and by
// clusters in one.
#include "kernels/plan/long.hpp"

#include <gmock/gmock.h>

#include <map>
#include <tuple>

#include "tests/kernels/support.hpp"
#include "tests/sanitized.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

// Of each number of outer rows, fold, type, gates, lengths and batches that leave something over; filters that are cut,
// wrapped, and longer than L.
TEST(LongResult, AgreesWithTheReference) {
  for (std::string_view token : unless_sanitized(
           {"fftconv_f16_circular_l65536_b2_h1", "fftconv_bf16_causal_l65536_b1_h2_pregate",
            "fftconv_f16_causal_l50001_k1000_b1_h1_postgate", "fftconv_f16_circular_l70001_b1_h1",
            "fftconv_f16_circular_l81920_k100000_b3_h1_pregate_postgate", "fftconv_bf16_circular_l98304_b1_h1",
            "fftconv_f16_causal_l114688_b1_h1", "fftconv_f16_causal_l60000_b2_h1_n65536_rightangle_r4x8x8x16x16"},
           5))
    for (int blocks : unless_sanitized({2, 0}, 1)) {
      if (blocks == 2 && !kSanitized && token.find("_l6") == std::string_view::npos) continue;
      ExecutorOptions options = few_blocks();
      if (blocks > 0) options.blocks = blocks;
      expect_right(parse_convolution(token), {}, options);
    }
}

// Of clusters all ways that samples come and go, and several items of each.
TEST(LongResult, ClustersAgreeWithTheReference) {
  int number = 0;
  for (std::string_view token :
       {"fftconv_f16_circular_l65536_b5_h2", "fftconv_bf16_causal_l65536_b3_h1", "fftconv_f16_causal_l57344_b3_h1",
        "fftconv_f16_causal_l50001_k1000_b2_h1_n65536_rightangle_r8x8x4x16x16",
        "fftconv_f16_causal_l65000_b2_h2_n65536_rightangle_r8x8x4x16x16",
        "fftconv_bf16_circular_l50003_b2_h1_n65536_rightangle_r8x8x4x16x16", "fftconv_bf16_circular_l65536_b3_h1",
        "fftconv_f16_circular_l131072_b3_h1"}) {
    ExecutorOptions options = few_blocks();
    options.order = ++number % 2 == 1 ? host::Order::random : host::Order::ascending, options.seed = number;
    const Convolution problem = parse_convolution(token);
    ASSERT_EQ(choose(problem, options.device).family, "cluster") << token;
    expect_right(problem, {}, options);
  }
}

// Small integers come out exactly once rounded, so that nothing is at a wrong place.
TEST(LongResult, IntegersThroughClustersComeOutExactly) {
  for (std::string_view token : {"fftconv_f16_circular_l65536_b4_h1", "fftconv_f16_causal_l57344_b2_h1"}) {
    const Convolution problem = parse_convolution(token);
    Inputs inputs = make_inputs(problem, {});
    for (double& x : inputs.u) x = std::clamp(std::round(x), -2., 2.);
    std::fill(inputs.k.begin(), inputs.k.end(), 0.);
    for (std::int64_t n : {0, 1, 20011}) inputs.k[n] = n % 2 == 0 ? 1 : -1;
    const std::vector<double> expected = convolve(problem, inputs, Algorithm::fftw);
    const std::vector<double> actual = execute_plan(problem, inputs, {});
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) wrong += std::round(actual[i]) != std::round(expected[i]);
    EXPECT_EQ(wrong, 0) << token;
  }
}

// Where there are no clusters.
TEST(LongChoice, OtherDevicesHaveOuterPasses) {
  const Convolution problem = parse_convolution("fftconv_f16_circular_l65536_b4_h1");
  EXPECT_EQ(choose(problem, device_like(0)).family, "cluster");
  EXPECT_EQ(choose(problem, device_like(1)).family, "outer");
}

TEST(LongChoice, ClustersTakeWholeLinesWithoutGates) {
  const auto family = [](std::string_view token) { return choose(parse_convolution(token), device_like(0)).family; };
  EXPECT_EQ(family("fftconv_f16_causal_l57344_b4_h1"), "cluster");
  EXPECT_EQ(family("fftconv_f16_causal_l57352_b4_h1"), "outer");
  EXPECT_EQ(family("fftconv_f16_causal_l57344_b4_h1_postgate"), "outer");
}

constexpr int kFound = 4096;  // what blocks say that look for rows out of range

// As many as one launch takes, of the convolution and of the filter.
TEST(LongResult, ChunksOfChannels) {
  const Convolution problem = parse_convolution("fftconv_bf16_circular_l49152_b3_h3_pregate");
  ExecutorOptions options = few_blocks();
  options.device.cache_bytes = 49152;               // of planes of four rows and of fp32 rows: one channel
  constexpr int kEnergies = 3 * 2 * (768 / 8) * 8;  // of items of two rows, a unit is eight columns of 768
  EXPECT_EQ(Plan(problem, executor_machine(options)).workspace_bytes(3), kFound + 8 * 49152 + kEnergies);
  expect_right(problem, {}, options);
}

// At most a copy of u, and where one channel is more than that, some of its rows.
TEST(LongResult, ChunksOfRows) {
  const Convolution problem = parse_convolution("fftconv_f16_causal_l98304_b5_h1_postgate");
  constexpr int kEnergies = 5 * (1536 / 8) * 8;
  EXPECT_EQ(Plan(problem, executor_machine(few_blocks())).workspace_bytes(5),
            kFound + 8 * 98304 + kEnergies);  // u has five rows; two of complex planes
  expect_right(problem, {}, ExecutorOptions());
}

TEST(LongChoice, PadsByAQuarterAtMost) {
  for (Fold fold : {Fold::pair, Fold::right_angle})
    for (Dtype dtype : {Dtype::f16, Dtype::bf16}) {
      int before = 0;
      for (const auto& v : long_variants()) {
        if (v->fold != fold || v->dtype != dtype || v->size < 65536 || v->size > 1 << 22) continue;
        if (before > 0) {
          EXPECT_LE(v->size, before / 4 * 5) << before;
        }
        before = v->size;
      }
      EXPECT_EQ(before, 1 << 22);
    }
}

TEST(LongChoice, OneOfEachSizeIsPreferred) {
  std::map<std::tuple<int, Dtype, Fold, bool>, int> preferred;
  for (const auto& v : long_variants()) preferred[{v->size, v->dtype, v->fold, v->gated}] += v->preferred;
  for (const auto& [kind, count] : preferred) EXPECT_EQ(count, 1) << std::get<0>(kind);
}

TEST(LongChoice, HasTheRowsThatTakeLeast) {
  const auto name = [](const char* token) { return choose(parse_convolution(token), Device()).name; };
  EXPECT_THAT(name("fftconv_f16_circular_l524288_b2_h1"), testing::StartsWith("outer_128x4096"));
  EXPECT_THAT(name("fftconv_f16_causal_l524288_b2_h1"), testing::StartsWith("outer_64x8192"));
  EXPECT_THAT(name("fftconv_f16_causal_l1048576_b2_h1"), testing::StartsWith("outer_256x4096"));
  EXPECT_THAT(name("fftconv_f16_circular_l2097152_b2_h1"), testing::StartsWith("outer_128x16384"));
}

}  // namespace
}  // namespace danaus
