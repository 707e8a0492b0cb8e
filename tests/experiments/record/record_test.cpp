// danaus record: what it reads of tests and tools, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/code/row_code.hpp"
#include "experiments/record/check.hpp"
#include "kernels/cpu/machine.hpp"
#include "tests/experiments/support.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

// As GoogleTest writes it, without what is not read.
constexpr const char* kResults = R"json({"tests": 3, "failures": 1, "testsuites": [
  {"name": "Plan", "testsuite": [
    {"name": "Runs", "status": "RUN", "result": "COMPLETED"},
    {"name": "Stops", "status": "RUN", "result": "COMPLETED", "failures": [{"failure": "no", "type": ""}]}]},
  {"name": "Gpu", "testsuite": [{"name": "IsThere", "status": "RUN", "result": "SKIPPED"}]}]})json";
constexpr const char* kGood =
    R"json({"testsuites": [{"name": "A", "testsuite": [{"name": "B", "result": "COMPLETED"}]}]})json";

Json check(Tool tool, const char* results, const char* log = nullptr) {
  std::vector<Text> logs;
  if (log) logs.push_back({"log.txt", log});
  return check_of(tool, "kernels_cuda_test", std::array{Text{"results.json", results}}, logs);
}

TEST(Checks, CountsTestsAndNamesThoseThatFailed) {
  const Json row = check(Tool::none, kResults);
  EXPECT_EQ(row.at("tests"), Json({{"passed", 1}, {"failed", 1}, {"skipped", 1}}));
  EXPECT_EQ(row.at("failed"), Json({"Plan.Stops"}));
  EXPECT_EQ(row.at("status"), "failed");
  EXPECT_EQ(check(Tool::none, kGood).at("status"), "passed");
  EXPECT_EQ(check(Tool::none, R"({"testsuites": []})").at("status"), "failed") << "nothing ran";
}

TEST(Checks, AToolThatFoundSomethingFails) {
  EXPECT_EQ(check(Tool::memcheck, kGood, "...\n========= ERROR SUMMARY: 0 errors\n").at("status"), "passed");
  const Json found = check(Tool::initcheck, kGood, "========= ERROR SUMMARY: 12 errors\n");
  EXPECT_EQ(found.at("status"), "failed");
  EXPECT_EQ(found.at("errors"), 12);
  const char* races = "========= RACECHECK SUMMARY: 3 hazards displayed (2 errors, 1 warning)\n";
  EXPECT_EQ(check(Tool::racecheck, kGood, races).at("errors"), 3) << "a warning is one too";
}

TEST(Checks, AddsWhatProcessesSharedAndMissesNone) {
  const std::array results = {Text{"0.json", kGood}, Text{"1.json", kResults}};
  EXPECT_EQ(check_of(Tool::none, "tests", results, {}).at("tests"),
            Json({{"passed", 2}, {"failed", 1}, {"skipped", 1}}));
  const std::array logs = {Text{"0.txt", "ERROR SUMMARY: 2 errors\n"}, Text{"1.txt", "ERROR SUMMARY: 3 errors\n"}};
  EXPECT_EQ(check_of(Tool::memcheck, "tests", results, logs).at("errors"), 5);
  EXPECT_THROW(check_of(Tool::memcheck, "tests", results, std::span(logs).first(1)), std::invalid_argument);
  EXPECT_THROW(check_of(Tool::none, "tests", std::array{results[0], results[0]}, {}), std::invalid_argument);
}

TEST(Checks, RefusesWhatIsNoResultAndAToolThatWasStopped) {
  const auto refusal = [](Tool tool, const char* results, const char* log) -> std::string {
    try {
      check(tool, results, log);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal(Tool::none, "no JSON", nullptr), HasSubstr("results.json: lacks 'testsuites'"));
  EXPECT_THAT(refusal(Tool::none, R"({"testsuites": [{"testsuite": [{"name": "A"}]}]})", nullptr),
              HasSubstr("lacks 'result'"));
  EXPECT_THAT(refusal(Tool::memcheck, kGood, "========= COMPUTE-SANITIZER\n"),
              HasSubstr("log.txt: has no summary of memcheck; did it run to its end?"));
  EXPECT_THAT(refusal(Tool::memcheck, kGood, nullptr),
              HasSubstr("memcheck needs --log FILE for each --results, has 0 for 1"));
  EXPECT_THAT(refusal(Tool::none, kGood, "x"), HasSubstr("tests has no log; leave --log out"));
}

TEST(Checks, ANewRunTakesThePlaceOfTheOneBefore) {
  const Folder folder;
  const auto record = [&](const char* results) {
    write_file(folder / "results.json", results);
    return run({"record", "--program", "kernels_test", "--results", folder / "results.json", "--json",
                folder / "checks.jsonl"});
  };
  const Ran failed = record(kResults);
  EXPECT_EQ(failed.code, 1) << failed.err;
  EXPECT_THAT(failed.out, HasSubstr("1 passed, 1 failed, 1 skipped"));
  EXPECT_EQ(record(kGood).code, 0);
  const std::string rows = read_file(folder / "checks.jsonl");
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 1);
  EXPECT_EQ(Json::parse(rows).at("status"), "passed");
  EXPECT_EQ(Json::parse(rows).at("code"), code_of_all_kernels(executor_machine()->device()).words());
}

TEST(Checks, FilesOfManyProcessesHaveOneName) {
  const Folder folder;
  const auto record = [&](const std::string& results, const std::string& parts) {
    return run({"record", "--program", "kernels_test", "--results", folder / results, "--parts", parts, "--json",
                folder / "checks.jsonl"});
  };
  write_file(folder / "0-of-2.json", kGood);
  write_file(folder / "1-of-2.json",
             R"json({"testsuites": [{"testsuite": [{"name": "C", "result": "SKIPPED"}]}]})json");
  const Ran both = record("%-of-2.json", "2");
  EXPECT_THAT(both.out, HasSubstr("1 passed, 0 failed, 1 skipped")) << both.err;
  EXPECT_THAT(record("%-of-2.json", "3").err, HasSubstr("2-of-2.json")) << "one is missing";
  EXPECT_THAT(record("0-of-2.json", "2").err, HasSubstr("lacks the % that --parts counts"));
  EXPECT_THAT(record("%-of-2.json", "0").err, HasSubstr("--parts must be 1 or more, is 0"));
}

}  // namespace
}  // namespace danaus
