// danaus calibrate: what it refuses, and the profile that it writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "experiments/calibrate/calibration.hpp"
#include "kernels/cuda/machine.hpp"
#include "model/profile.hpp"
#include "tests/experiments/support.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

DeviceLimits h200() { return {90, 132, 227 * 1024, 1980, 4.9e12, 60 * 1048576.}; }

TEST(Calibrate, CeilingsAreOfTheClockThatItRanAt) {
  const Ceiling shared = ceiling_of(Limit::shared_bytes, 0, h200(), 1500);
  EXPECT_DOUBLE_EQ(shared.per_second, 128. * 132 * 1500e6);
  EXPECT_THAT(shared.source, HasSubstr("128 bytes a clock an SM x 132 SMs x 1500 MHz"));
  // The datasheets' 989.4 TFLOP/s of H100 and 66.9 of fp32 are at 1830 and 1980 MHz.
  EXPECT_NEAR(ceiling_of(Limit::matrix_flops, 0, h200(), 1830).per_second, 989.4e12, 0.1e12);
  EXPECT_NEAR(ceiling_of(Limit::instructions, 2, h200(), 1980).per_second, 66.9e12, 0.1e12);
  DeviceLimits unknown = h200();
  unknown.sm = 75;
  EXPECT_THROW(ceiling_of(Limit::matrix_flops, 0, unknown, 1500), std::invalid_argument);
}

Measurement measured(const char* key, const char* unit, double value, std::optional<double> ceiling = {}) {
  Measurement m{key, unit, "a test", value};
  m.ceiling = ceiling, m.ceiling_source = "a limit";
  return m;
}

std::string refusal(const Measurement& m) {
  try {
    require_possible(m);
  } catch (const ImpossibleNumber& impossible) {
    return impossible.what();
  }
  return "accepted";
}

TEST(Calibrate, RefusesWhatCannotBe) {
  EXPECT_EQ(refusal(measured("l2_bandwidth", "TB/s", 5, 16)), "accepted");
  EXPECT_THAT(refusal(measured("l2_bandwidth", "TB/s", 0, 16)), HasSubstr("l2_bandwidth: 0 TB/s, must be a positive"));
  EXPECT_THAT(refusal(measured("permute_rate", "Top/s", -1)), HasSubstr("permute_rate: -1"));
  EXPECT_THAT(refusal(measured("sms", "SMs", std::nan(""))), HasSubstr("must be a positive number"));
  EXPECT_THAT(refusal(measured("shared_load_bandwidth", "TB/s", 33.5, 33.4)),
              HasSubstr("shared_load_bandwidth: 33.5 TB/s is above 33.4 (a limit): a mistake of the measurement"));
}

Calibration whole() {
  Calibration calibration{"a test's GPU", {}, {"another process computed on the GPU"}};
  calibration.measurements = {measured("matrix_side", "elements", 16),
                              measured("matrix_rate", "TFLOP/s", 612.34567, 989),
                              measured("general_rate", "TFLOP/s", 58, 66),
                              measured("hbm_bandwidth", "TB/s", 4.2, 4.9),
                              measured("clock", "MHz", 1980),
                              measured("shared_memory_per_block", "KiB", 227),
                              measured("sms", "SMs", 132),
                              measured("permute_rate", "Top/s", 14, 30),
                              measured("launch_interval", "us", 1.5)};
  calibration.measurements[1].clock_mhz = 1500, calibration.measurements[1].spread = 0.0123;
  return calibration;
}

TEST(Calibrate, WritesAProfileThatTheModelReads) {
  const HardwareProfile profile = parse_profile(profile_text("test", "2026-01-02", whole()), "test");
  EXPECT_EQ(profile.name, "test");
  EXPECT_DOUBLE_EQ(profile.matrix_rate.value, 612.3);
  EXPECT_EQ(profile.matrix_rate.kind, "measured");
  EXPECT_THAT(profile.matrix_rate.source, HasSubstr("calibration, 2026-01-02"));
  EXPECT_EQ(profile.matrix_rate.clock, 1500);
  EXPECT_EQ(profile.matrix_rate.spread, 0.0123);
  EXPECT_EQ(profile.permute_rate->value, 14);
  EXPECT_THAT(profile.notes, testing::ElementsAre("another process computed on the GPU"));
}

TEST(Calibrate, WritesNothingImpossible) {
  Calibration calibration = whole();
  calibration.measurements[3].value = 5;
  EXPECT_THROW(profile_text("test", "2026-01-02", calibration), ImpossibleNumber);
  calibration = whole();
  calibration.measurements.pop_back(), calibration.measurements[3].key = "hbm_bandwith";
  EXPECT_THROW(profile_text("test", "2026-01-02", calibration), std::invalid_argument);
}

TEST(Calibrate, SaysThatItNeedsAGpu) {
  EXPECT_THAT(run({"calibrate", "--output", "profile.txt"}).err, HasSubstr("output 'profile.txt', must end in .json"));
  if (cuda_device_count() > 0) GTEST_SKIP() << "there is one";
  const Folder folder;
  const Ran ran = run({"calibrate", "--output", folder / "profile.json"});
  EXPECT_EQ(ran.code, 77);
  EXPECT_THAT(ran.err, HasSubstr("no CUDA device"));
  EXPECT_TRUE(folder.files().empty());
}

TEST(Calibrate, MeasuresAGpu) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  const Folder folder;
  const Ran ran = run({"calibrate", "--output", folder / "profile.json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const HardwareProfile profile = load_profile(folder / "profile.json");
  EXPECT_TRUE(profile.mma_f16acc_rate && profile.ldmatrix_bandwidth && profile.launch_interval);
}

}  // namespace
}  // namespace danaus
