#include "model/profile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace danaus {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

// A file that is accepted, for the tests to break one number of.
json good_file() {
  const auto number = [](double value, const char* unit) {
    return json{{"value", value}, {"unit", unit}, {"kind", "datasheet"}, {"source", "test"}};
  };
  return {{"name", "test"},
          {"device", "none"},
          {"numbers",
           {{"matrix_side", number(16, "elements")},
            {"matrix_rate", number(100, "TFLOP/s")},
            {"general_rate", number(10, "TFLOP/s")},
            {"hbm_bandwidth", number(1, "TB/s")},
            {"sram_bandwidth", number(10, "TB/s")},
            {"shared_memory_per_block", number(99, "KiB")},
            {"sms", number(100, "SMs")},
            {"clock", number(1000, "MHz")}}}};
}

std::string refusal(const json& file) {
  try {
    parse_profile(file.dump(), "broken");
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Profile, EveryShippedProfileLoadsByName) {
  EXPECT_THAT(profile_names(), ElementsAre("A100-40GB", "H100", "H200"));
  for (const std::string& name : profile_names()) EXPECT_EQ(load_profile(name).name, name);
}

TEST(Profile, HoldsTable19) {
  const HardwareProfile a100 = load_profile("A100-40GB");
  EXPECT_EQ(a100.hbm_bandwidth.value, 1.35);
  EXPECT_EQ(a100.sram_bandwidth.value, 9.5);
  EXPECT_EQ(a100.matrix_rate.value, 234);
  EXPECT_EQ(a100.general_rate.value, 17.6);
  EXPECT_EQ(a100.sram_bandwidth.kind, "published");
}

TEST(Profile, DerivesTheSramBandwidthThatAFileLeavesOut) {
  json file = good_file();
  file["numbers"].erase("sram_bandwidth");
  const HardwareProfile profile = parse_profile(file.dump(), "test");
  EXPECT_DOUBLE_EQ(profile.sram_bandwidth.value, 12.8);  // 128 bytes x 100 SMs x 1 GHz
  EXPECT_EQ(profile.sram_bandwidth.source, "derived: 128 bytes a clock an SM x 100 SMs x 1000 MHz");
  EXPECT_EQ(profile.sram_bandwidth.kind, "datasheet");
}

TEST(Profile, ReadsAFileFromAPath) {
  const std::string path = testing::TempDir() + "/danaus_profile_test.json";
  std::ofstream(path) << good_file().dump();
  EXPECT_EQ(load_profile(path).shared_memory_per_block.value, 99);
  EXPECT_THROW(load_profile("/nowhere/at/all.json"), std::invalid_argument);
}

TEST(Profile, NamesTheKnownOnesWhenAskedForAnother) {
  try {
    load_profile("V100");
    FAIL() << "V100 was accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("profile 'V100': unknown, must be one of A100-40GB, H100, H200"));
  }
}

TEST(Profile, AcceptsTheFileThatTheRefusalsBreak) { EXPECT_EQ(refusal(good_file()), "accepted"); }

TEST(Profile, RefusesByNameAMissingNumber) {
  for (const char* key :
       {"matrix_side", "matrix_rate", "general_rate", "hbm_bandwidth", "shared_memory_per_block", "sms", "clock"}) {
    json file = good_file();
    file["numbers"].erase(key);
    EXPECT_EQ(refusal(file), std::string("profile broken: '") + key + "' is missing");
  }
}

TEST(Profile, RefusesByNameANumberThatIsNotPositive) {
  for (const json& value : {json(0), json(-1.5), json("16"), json(nullptr)}) {
    json file = good_file();
    file["numbers"]["clock"]["value"] = value;
    EXPECT_EQ(refusal(file), "profile broken: clock: 'value' is " + value.dump() + ", must be a positive number");
  }
}

TEST(Profile, RefusesByNameANumberAboveItsCeiling) {
  json file = good_file();
  file["numbers"]["hbm_bandwidth"] = {{"value", 5.0},     {"unit", "TB/s"}, {"kind", "measured"},
                                      {"source", "copy"}, {"ceiling", 4.8}, {"ceiling_source", "datasheet"}};
  EXPECT_EQ(refusal(file), "profile broken: hbm_bandwidth: measured value 5 TB/s is above its ceiling 4.8 (datasheet)");
}

TEST(Profile, RefusesByNameACountThatNoDeviceHas) {
  const std::pair<const char*, double> kTooMany[] = {
      {"sms", 1e18}, {"matrix_side", 1e9}, {"shared_memory_per_block", 3e6}};
  for (const auto& [key, value] : kTooMany) {
    json file = good_file();
    file["numbers"][key]["value"] = value;
    EXPECT_THAT(refusal(file), testing::ContainsRegex(std::string(key) + ": value is .*, must be at most"));
  }
}

TEST(Profile, KeepsClockSpreadAndNotes) {
  json file = good_file();
  file["notes"] = {"a note"};
  file["numbers"]["permute_rate"] = {{"value", 14},      {"unit", "Top/s"}, {"kind", "measured"},
                                     {"source", "test"}, {"ceiling", 33},   {"ceiling_source", "test"},
                                     {"clock", 1500},    {"spread", 0}};
  const HardwareProfile profile = parse_profile(file.dump(), "test");
  EXPECT_EQ(profile.permute_rate->clock, 1500);
  EXPECT_EQ(profile.permute_rate->spread, 0);
  EXPECT_THAT(profile.notes, ElementsAre("a note"));
  file["numbers"]["permute_rate"]["clock"] = 0;
  EXPECT_THAT(refusal(file), HasSubstr("permute_rate: 'clock' is 0, must be a positive number"));
  file["notes"] = "a note";
  EXPECT_THAT(refusal(file), HasSubstr("'notes' is \"a note\", must be a list of texts"));
}

TEST(Profile, TakesRatesAtTheLoadClock) {
  HardwareProfile profile = parse_profile(good_file().dump(), "test");
  EXPECT_EQ(at_load_clock(profile.matrix_rate, profile), 100);
  profile.load_clock = profile.clock, profile.load_clock->value = 900;
  EXPECT_EQ(at_load_clock(profile.matrix_rate, profile), 100) << "nobody knows at which clock it was measured";
  profile.matrix_rate.clock = 1200;
  EXPECT_DOUBLE_EQ(at_load_clock(profile.matrix_rate, profile), 75);
}

TEST(Profile, RefusesAMeasuredRateThatNothingJudges) {
  json file = good_file();
  file["numbers"]["general_rate"]["kind"] = "measured";
  EXPECT_THAT(refusal(file), HasSubstr("general_rate: a measured rate needs a 'ceiling'"));
}

TEST(Profile, RefusesWhatItDoesNotUnderstand) {
  json unit = good_file();
  unit["numbers"]["hbm_bandwidth"]["unit"] = "GB/s";
  EXPECT_THAT(refusal(unit), HasSubstr("hbm_bandwidth: unit is 'GB/s', must be 'TB/s'"));
  json kind = good_file();
  kind["numbers"]["clock"]["kind"] = "guessed";
  EXPECT_THAT(refusal(kind), HasSubstr("clock: kind is 'guessed'"));
  json source = good_file();
  source["numbers"]["clock"].erase("source");
  EXPECT_THAT(refusal(source), HasSubstr("clock: 'source' is missing"));
  json unknown = good_file();
  unknown["numbers"]["hbm_bandwith"] = unknown["numbers"]["hbm_bandwidth"];
  EXPECT_THAT(refusal(unknown), HasSubstr("unknown number 'hbm_bandwith'"));
  json fraction = good_file();
  fraction["numbers"]["sms"]["value"] = 1.5;
  EXPECT_THAT(refusal(fraction), HasSubstr("sms: value is 1.5, must be a whole number"));
  EXPECT_THROW(parse_profile("{\"name\": ", "cut"), std::invalid_argument);
  EXPECT_THROW(parse_profile("[]", "list"), std::invalid_argument);
}

}  // namespace
}  // namespace danaus
