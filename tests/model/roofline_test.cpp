// The roofline over counted work: each resource by hand, and how times become one.
#include "model/roofline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace danaus {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Quantity quantity(double value, const char* unit) { return {value, unit, "test", "measured", {}, {}, {}, {}}; }

// 100 SMs at 1000 MHz.
HardwareProfile profile() {
  HardwareProfile p;
  p.name = "test";
  p.matrix_rate = quantity(100, "TFLOP/s");
  p.general_rate = quantity(20, "TFLOP/s");
  p.hbm_bandwidth = quantity(2, "TB/s");
  p.sms = quantity(100, "SMs");
  p.clock = quantity(1000, "MHz");
  return p;
}

double us(const RooflinePrediction& prediction, const std::string& name) {
  for (const ResourceTime& resource : prediction.resources)
    if (resource.name == name) return resource.us;
  return std::nan("");
}

TEST(Roofline, AFitOfAnotherGpuIsSaid) {
  HardwareProfile its_own = profile();
  its_own.name = Concurrency().fitted_to;
  const auto is_said = Contains(HasSubstr("were fitted to kernels on the H200, none of them on the test"));
  EXPECT_THAT(predict_roofline({}, profile()).notes, is_said);
  EXPECT_THAT(predict_roofline({}, its_own).notes, Not(Contains(HasSubstr("fitted"))));
  EXPECT_THAT(predict_roofline({}, profile(), {.fitted_to = ""}).notes, Not(Contains(HasSubstr("fitted"))));
}

TEST(Roofline, TimesOfResourcesByHand) {
  KernelWork work;
  work.hbm_bytes = 2e8;
  work.mma_f16acc = 1e6;  // 4096 flops each
  work.mma_depth8 = 2e6;  // 2048
  work.packed_operations = 1e9;
  work.byte_permutes = 6.4e9;
  work.l1_wavefronts = 1e7;
  work.warp_instructions = 4e7;
  HardwareProfile p = profile();
  const RooflinePrediction without = predict_roofline(work, p);
  EXPECT_DOUBLE_EQ(us(without, "hbm"), 100);
  EXPECT_DOUBLE_EQ(us(without, "tensor"), 2 * 40.96);
  EXPECT_DOUBLE_EQ(us(without, "fma"), 100);  // two flops of fp32 in the time of four
  EXPECT_DOUBLE_EQ(us(without, "alu"), 1000);
  EXPECT_DOUBLE_EQ(us(without, "l1"), 100);
  EXPECT_DOUBLE_EQ(us(without, "issue"), 100);
  EXPECT_EQ(without.limit, "alu");
  EXPECT_THAT(without.notes, Contains(HasSubstr("byte permutes at 64 a clock an SM")));

  // Measured at half the clock that the kernel has: twice the rate.
  p.permute_rate = quantity(6.4, "Top/s"), p.permute_rate->clock = 500;
  p.load_clock = quantity(1000, "MHz");
  p.mma_f16acc_rate = quantity(409.6, "TFLOP/s");
  p.half2_rate = quantity(80, "TFLOP/s");
  const RooflinePrediction with = predict_roofline(work, p);
  EXPECT_DOUBLE_EQ(us(with, "alu"), 500);
  EXPECT_DOUBLE_EQ(us(with, "tensor"), 10 + 40.96);
  EXPECT_DOUBLE_EQ(us(with, "fma"), 50);
}

TEST(Roofline, SaysWhatTheProfileHasNot) {
  KernelWork work;
  work.hbm_bytes = 2e8, work.l1_wavefronts = 1e7, work.l2_bytes = 1e8;
  HardwareProfile p = profile();
  const std::vector<std::string> without = predict_roofline(work, p).notes;
  EXPECT_THAT(without, Contains("not in the profile: L2 is left out"));
  EXPECT_THAT(without, Contains("not in the profile: the launch is left out"));
  EXPECT_THAT(without, Contains("not in the profile: shared memory at 128 bytes a clock an SM"));
  p.l2_bandwidth = quantity(5, "TB/s");
  p.launch_interval = quantity(3, "us");
  p.shared_load_bandwidth = quantity(12, "TB/s");
  for (const std::string& note : predict_roofline(work, p).notes)
    EXPECT_THAT(note, testing::AnyOf(Not(HasSubstr("not in the profile")), HasSubstr("packed arithmetic")));
}

TEST(Roofline, WhatHasNoRegisterGoesThroughL1AndIsIssued) {
  KernelWork work;
  work.l1_wavefronts = 1e7, work.warp_instructions = 4e7, work.local_accesses = 2e7;
  const RooflinePrediction known = predict_roofline(work, profile());
  EXPECT_DOUBLE_EQ(us(known, "l1"), 300);
  EXPECT_DOUBLE_EQ(us(known, "issue"), 150);
  EXPECT_THAT(known.notes, Not(Contains(HasSubstr("compiler"))));
  work.local_is_known = false;
  EXPECT_THAT(predict_roofline(work, profile()).notes, Contains(HasSubstr("no report of the compiler")));
}

TEST(Roofline, BlocksOfAClusterHaveABandwidthBetweenThem) {
  KernelWork work;
  work.hbm_bytes = 2e8;
  HardwareProfile p = profile();
  p.remote_store_bandwidth = quantity(2, "TB/s");
  EXPECT_THAT(predict_roofline(work, p).resources, Not(Contains(testing::Field(&ResourceTime::name, "cluster"))));
  work.remote_bytes = 3e8;
  EXPECT_DOUBLE_EQ(us(predict_roofline(work, p), "cluster"), 150);
  EXPECT_EQ(predict_roofline(work, p).limit, "cluster");
  p.remote_store_bandwidth.reset();
  EXPECT_THAT(predict_roofline(work, p).notes, Contains(HasSubstr("blocks of a cluster")));
}

TEST(Roofline, TheBusiestSmCountsOnTheChipAndNotInMemory) {
  KernelWork work;
  work.hbm_bytes = 2e8, work.l1_wavefronts = 1e7, work.imbalance = 1.5;
  const RooflinePrediction prediction = predict_roofline(work, profile());
  EXPECT_DOUBLE_EQ(us(prediction, "hbm"), 100);
  EXPECT_DOUBLE_EQ(us(prediction, "l1"), 150);
  EXPECT_EQ(prediction.limit, "l1");
}

// Without latencies.
Concurrency at(double overlap) {
  Concurrency fit;
  fit.overlap = overlap, fit.half = {}, fit.last_wave = 0;
  fit.wait_us = fit.start_us = fit.fill_us = fit.phase_fill_us = fit.follow_us = 0;
  return fit;
}

// Of memory and what SMs do, at an overlap of 2, of which that of memory is 3.
const double kBoth = std::cbrt(30 * 30 * 30 + 40 * 40 * 40);

TEST(Roofline, OneTimeLiesBetweenTheLongestAndTheSum) {
  KernelWork work;
  work.hbm_bytes = 6e7, work.l1_wavefronts = 4e6;
  HardwareProfile p = profile();
  p.launch_interval = quantity(3, "us");
  EXPECT_DOUBLE_EQ(predict_roofline(work, p, at(1)).total_us, 30 + 40 + 3);
  EXPECT_DOUBLE_EQ(predict_roofline(work, p, at(2)).total_us, kBoth + 3);
  work.hbm_bytes = 0, work.warp_instructions = 1.2e7;
  EXPECT_DOUBLE_EQ(us(predict_roofline(work, p), "issue"), 30);
  EXPECT_DOUBLE_EQ(predict_roofline(work, p, at(2)).total_us, 50 + 3) << "of SMs alone";
  EXPECT_NEAR(predict_roofline(work, p, at(1000)).total_us, 40 + 3, 1e-6);
  EXPECT_THROW(predict_roofline(work, p, {.overlap = 0.5}), std::invalid_argument);
}

TEST(Roofline, WarpsThatMeetAtBarriersOverlapByTheBlocksBesideThem) {
  KernelWork work;
  work.hbm_bytes = 6e7, work.l1_wavefronts = 4e6, work.meets = true, work.resident_blocks = 3;
  Concurrency fit = at(3);
  fit.half = {3, 0, 9};
  EXPECT_DOUBLE_EQ(predict_roofline(work, profile(), fit).total_us, kBoth) << "3 of 3 + 3, so 2 is left of 3";
  EXPECT_THAT(predict_roofline(work, profile(), fit).notes, Contains(HasSubstr("in shared memory: overlap 2")));
  work.prefetch = Prefetch::none;
  const double p = 1.5;  // of memory too
  EXPECT_DOUBLE_EQ(predict_roofline(work, profile(), fit).total_us, std::pow(std::pow(30, p) + std::pow(40, p), 1 / p));
  work.meets = false;
  EXPECT_LT(predict_roofline(work, profile(), fit).total_us, kBoth);
}

TEST(Roofline, LatenciesAreOnTopOfAllElse) {
  KernelWork work;
  work.hbm_bytes = 6e7, work.l1_wavefronts = 4e6;
  Concurrency fit = at(1);
  fit.start_us = 2, fit.fill_us = 3, fit.phase_fill_us = 4, fit.follow_us = 5;
  EXPECT_DOUBLE_EQ(predict_roofline(work, profile(), fit).total_us, 70 + 3);
  work.starts = 1.5, work.follows = true;
  EXPECT_DOUBLE_EQ(predict_roofline(work, profile(), fit).latencies_us, 3 + 3 + 5);
  work.meets = true, work.prefetch = Prefetch::l2;
  EXPECT_DOUBLE_EQ(predict_roofline(work, profile(), fit).total_us, 70 + 3 + 3 + 4 + 5);
}

TEST(Roofline, TheLastWaveCountsByAShare) {
  KernelWork work;
  work.hbm_bytes = 6e7, work.l1_wavefronts = 4e6, work.last_wave = 1.5;
  Concurrency fit = at(2);
  fit.last_wave = 0.5;
  EXPECT_DOUBLE_EQ(predict_roofline(work, profile(), fit).total_us, 1.25 * kBoth);
}

TEST(Roofline, WhatAClusterExchangesOverlapsWithNothing) {
  KernelWork work;
  work.hbm_bytes = 6e7, work.l1_wavefronts = 4e6, work.remote_bytes = 4e7;
  HardwareProfile p = profile();
  p.remote_store_bandwidth = quantity(2, "TB/s");
  EXPECT_DOUBLE_EQ(predict_roofline(work, p, at(2)).total_us, kBoth + 20);
  work.cluster = 8, p.cluster8_sms = quantity(80, "SMs");
  EXPECT_DOUBLE_EQ(us(predict_roofline(work, p, at(2)), "l1"), 50) << "on 80 of 100 SMs";
  EXPECT_DOUBLE_EQ(us(predict_roofline(work, p, at(2)), "cluster"), 25);
}

TEST(Roofline, FewWarpsDoNotReachTheRateOfTheSchedulers) {
  KernelWork work;
  work.warp_instructions = 4e7;
  const auto issue = [&](double warps) {
    work.resident_warps = warps;
    return us(predict_roofline(work, profile(), {.overlap = 2, .warp_rate = 0.25}), "issue");
  };
  EXPECT_DOUBLE_EQ(issue(64), 100);  // four a clock of each of 100 SMs
  EXPECT_DOUBLE_EQ(issue(16), 100);
  EXPECT_DOUBLE_EQ(issue(4), 400);
  EXPECT_THROW(predict_roofline(work, profile(), {.overlap = 2, .warp_rate = 0}), std::invalid_argument);
}

TEST(Roofline, WaitsAreOnTopOfAllElse) {
  KernelWork work;
  work.hbm_bytes = 6e7, work.l1_wavefronts = 4e6, work.waits = 20;
  Concurrency fit = at(2);
  EXPECT_DOUBLE_EQ(predict_roofline(work, profile(), fit).total_us, kBoth);
  fit.wait_us = 0.5;
  EXPECT_DOUBLE_EQ(predict_roofline(work, profile(), fit).total_us, kBoth + 10);
  EXPECT_THROW(predict_roofline(work, profile(), {.wait_us = -1}), std::invalid_argument);
}

TEST(Roofline, LaunchesTakeTheSumOfTheirTimes) {
  KernelWork first, second;
  first.hbm_bytes = 6e7, second.l1_wavefronts = 4e6, second.mma_tf32 = 1e4, second.waits = 3;
  HardwareProfile p = profile();
  p.launch_interval = quantity(3, "us");
  const RooflinePrediction one = predict_roofline(first, p), other = predict_roofline(second, p),
                           sum = predict_launches({{first, 1}, {second, 5}}, p);
  EXPECT_DOUBLE_EQ(sum.total_us, one.total_us + 5 * other.total_us);
  EXPECT_DOUBLE_EQ(sum.launch_us, 6 * 3);
  EXPECT_DOUBLE_EQ(sum.waits, 5 * 3);
  EXPECT_DOUBLE_EQ(us(sum, "hbm"), us(one, "hbm"));
  EXPECT_DOUBLE_EQ(us(sum, "l1"), 5 * us(other, "l1"));
  EXPECT_GT(us(other, "tensor"), 0);
  EXPECT_EQ(sum.limit, "l1");
  EXPECT_DOUBLE_EQ(predict_launches({{first, 1}}, p).total_us, one.total_us);
  EXPECT_THROW(predict_launches({}, p), std::invalid_argument);
}

}  // namespace
}  // namespace danaus
