// Counted work as the model takes it: how workers of a launch go on from turn to turn.
#include "experiments/count/kernel_work.hpp"

#include <gtest/gtest.h>

#include "experiments/count/imitation.hpp"
#include "tests/experiments/support.hpp"

namespace danaus {
namespace {

std::vector<RepeatedWork> works(const std::string& token, bool prepares = false) {
  const Device device = imitation(load_profile("H200"));
  const Case asked = parse_case(token);
  return kernel_work(asked, count_program(asked, device), device, prepares);
}

TEST(KernelWork, WarpsOfAChainMeetNowhereAndThoseOfAnExchangeAtBarriers) {
  const KernelWork chain = works("fftconv_f16_circular_l256_b64_h768").front().work;
  EXPECT_FALSE(chain.meets);
  EXPECT_EQ(chain.waits, 1) << "for the spectrum of its channel";
  const KernelWork exchange = works("fftconv_f16_circular_l4096_b64_h768").front().work;
  EXPECT_TRUE(exchange.meets);
  EXPECT_EQ(exchange.prefetch, Prefetch::shared);
  EXPECT_FALSE(exchange.in_phases());
  EXPECT_GT(exchange.resident_blocks, 1);
  EXPECT_EQ(exchange.starts, 0);
  EXPECT_GT(works("fftconv_f16_circular_l4096_b1_h4096").front().work.waits, 5) << "each row is of another channel";
}

TEST(KernelWork, BlocksOfATransformBringNothingAhead) {
  const KernelWork filter = works("fftconv_f16_circular_l32768_b64_h768", true).front().work;
  EXPECT_TRUE(filter.in_phases());
  EXPECT_EQ(filter.prefetch, Prefetch::none);
  EXPECT_EQ(filter.starts, 6) << "768 blocks, one on each of 132 SMs";
}

TEST(KernelWork, LaunchesFollowAndTheirLastWaveIsNotFull) {
  const std::vector<RepeatedWork> gradients = works("fftconvgrad_f16_circular_l256_b64_h768");
  ASSERT_EQ(gradients.size(), 3) << "sums, their transforms, what is computed once more";
  EXPECT_FALSE(gradients[0].work.follows);
  EXPECT_TRUE(gradients[1].work.follows);
  EXPECT_GT(gradients[0].work.last_wave, 1.3) << "576 blocks, 528 at once";
}

TEST(KernelWork, AClusterHasItsBlocks) {
  const std::vector<RepeatedWork> large = works("fftconv_f16_circular_l262144_b64_h48");
  EXPECT_EQ(large.front().work.cluster, 8);
  EXPECT_GT(large.front().work.remote_bytes, 0);
}

}  // namespace
}  // namespace danaus
