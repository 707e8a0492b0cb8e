// Rows and their schemas, where no command can be run to write one; tests/experiments/schema_test.py has the others.
#include "experiments/io/schema.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/arithmetic/arithmetic.hpp"
#include "experiments/calibrate/calibration.hpp"
#include "experiments/count/hardware.hpp"
#include "experiments/count/imitation.hpp"
#include "experiments/io/result_file.hpp"
#include "tests/experiments/support.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

Json written(const std::string& kind, const Json& row) {
  std::ostringstream out, err;
  Console console{out, err, false, {"danaus"}};
  ResultFile(console, "-", kind, {}).append(row);
  return Json::parse(out.str());
}

TEST(Schema, KnowsEveryKindOfResultFile) {
  EXPECT_THAT(row_kinds(), testing::IsSupersetOf({"bench", "calibration", "convolve", "count", "counters", "factors",
                                                  "info", "list", "memory", "model", "verify", "what_if"}));
}

TEST(Schema, DescribesWhatACalibrationWrites) {
  Measurement measurement{"permute_rate", "Top/s", "a test", 14};
  const Json row = written("calibration", row_of(measurement, Device()));
  EXPECT_EQ(violation("calibration", row).value_or(""), "");
  measurement.clock_mhz = 1500, measurement.ceiling = 30;
  EXPECT_EQ(violation("calibration", written("calibration", row_of(measurement, Device()))).value_or(""), "");
  Json damaged = row;
  damaged["spread"] = -1;
  EXPECT_EQ(violation("calibration", damaged), "spread is -1, must be at least 0");
}

TEST(Schema, DescribesWhatArithmeticWrites) {
  const Instruction& of = instructions().front();
  const host::ProductRule rule = rule_of(of, 90);
  const auto row_of_run = [&](const host::ProductRule& followed) {
    const Findings findings = hold(
        of, rule, 20'000, 0, [&](const OperandWords& operands) { return expected_outputs(of, operands, followed); });
    return written("arithmetic", row_of(of, rule, findings, Device()));
  };
  EXPECT_EQ(violation("arithmetic", row_of_run(rule)).value_or(""), "");
  Json row = row_of_run({8, 24});
  EXPECT_EQ(violation("arithmetic", row).value_or(""), "");
  row["first"]["c"] = 1;
  EXPECT_NE(violation("arithmetic", row).value_or(""), "");
}

TEST(Schema, DescribesWhatIsReadFromAGpusCounters) {
  const Convolution problem = parse_convolution("fftconv_f16_circular_l1024_b5_h6");
  const Readings readings = {{"launch__grid_size", 18}, {"dram__bytes_read.sum", 96}, {"sass:BAR", 0}};
  const Json row = written("counters", comparison(problem, imitation(load_profile("H200")), readings));
  ASSERT_EQ(row.at("quantities").size(), 2);
  EXPECT_EQ(violation("counters", row).value_or(""), "");
}

TEST(Schema, SaysWhichOfSeveralFormsIsMeant) {
  std::ostringstream out, err;
  Json row = Json::parse(run({"model", "--case", "fftconv_f16_circular_l512_b8_h8", "--model", "roofline", "--profile",
                              "H200", "--json", "-"})
                             .out);
  EXPECT_EQ(violation("model", row).value_or(""), "");
  row.erase("resources");
  EXPECT_EQ(violation("model", row), "resources is missing");
  row["model"] = "eq3";
  EXPECT_EQ(violation("model", row), "model is \"eq3\", must be \"eq2\" or \"roofline\"");
  EXPECT_THROW(violation("nothing", row), std::invalid_argument);
}

}  // namespace
}  // namespace danaus
