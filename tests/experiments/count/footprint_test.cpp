// danaus memory: its rows, by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/cli/environment.hpp"
#include "tests/experiments/support.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

TEST(Memory, IsOfEverythingThatAConvolutionHas) {
  const Ran ran = run({"memory", "--case", "fftconv_f16_circular_l1024_k64_b8_h3_postgate", "--json", "-"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json row = Json::parse(ran.out);
  EXPECT_EQ(row.at("kind"), "memory");
  EXPECT_EQ(row.at("u_bytes"), 2 * 8 * 3 * 1024);
  EXPECT_EQ(row.at("gates_bytes"), row.at("u_bytes")) << "one of the two";
  EXPECT_EQ(row.at("k_bytes"), 4 * 3 * 64);
  constexpr int kOfChannels = 4 * (3 + 1) + 8 * 3;  // factors, up to an even word, and ranges
  EXPECT_EQ(row.at("spectrum_bytes"), 4 * 3 * 1024 + kOfChannels) << "of 1024 frequencies, however short the filter";
  const auto bytes = [&](const char* field) { return row.at(field).get<double>(); };
  EXPECT_EQ(bytes("workspace_bytes"), 0) << "of one launch";
  EXPECT_EQ(bytes("additional_bytes"), bytes("y_bytes") + bytes("spectrum_bytes") + bytes("tables_bytes"));
  EXPECT_EQ(bytes("total_bytes"),
            bytes("additional_bytes") + bytes("u_bytes") + bytes("k_bytes") + bytes("gates_bytes"));
  EXPECT_DOUBLE_EQ(bytes("paper_unit"), bytes("total_bytes") / 1048576000);
}

Json row_of(const std::string& token) {
  const Ran ran = run({"memory", "--case", token, "--json", "-"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  return Json::parse(ran.out);
}

// And the next larger one does not.
TEST(Memory, KnowsTheLargestBatchThatFits) {
  for (const auto& [before, after] :
       {std::pair("fftconv_f16_circular_l4194304_b", "_h768"), std::pair("fftconvstep_bf16_causal_l32768_b", "_h768"),
        std::pair("spectral_f32_b", "_c32x64_l128_m64_shared")}) {
    const Json row = row_of(text(before, 2, after));
    const auto largest = row.at("largest_batch").get<std::int64_t>();
    EXPECT_GT(largest, 1);
    const auto total = [&](std::int64_t batch) { return row_of(text(before, batch, after)).at("total_bytes"); };
    EXPECT_LE(total(largest), row.at("device_bytes"));
    EXPECT_GT(total(largest + 2), row.at("device_bytes")) << before;
  }
}

TEST(Memory, OfAnyOperationHasItsArraysByName) {
  const Json row = row_of("fftconvgrad_f16_circular_l65536_b2_h3");
  EXPECT_EQ(row.at("arrays").at("du"), 2 * 2 * 3 * 65536);
  EXPECT_EQ(row.at("arrays").at("dk"), 4 * 3 * 65536);
  EXPECT_GT(row.at("workspace_bytes"), 0);
  constexpr int kOfChannels = 4 * 256;  // 3 x 64 factors and 3 ranges, up to a multiple of 64 words
  EXPECT_EQ(row.at("prepared_bytes"), 2 * 4 * 3 * 65536 + kOfChannels) << "the spectrum and its conjugate";
}

TEST(Memory, RefusesACaseWithoutAKernel) {
  const Ran ran = run({"memory", "--case", "fftconv_f32_circular_l1024_b8_h3"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("dtype f32 has no kernel"));
}

}  // namespace
}  // namespace danaus
