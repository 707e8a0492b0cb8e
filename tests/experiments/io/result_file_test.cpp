// Result files that crashes, other programs and full disks have been at.
#include "experiments/io/result_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "experiments/io/asked_fields.hpp"
#include "tests/experiments/support.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

class Record : public testing::Test {
 protected:
  // A case for each name: "a" has one channel, "b" two.
  static std::string token(const std::string& name) {
    return "fftconv_f32_circular_l8_b1_h" + std::to_string(name.at(0) - 'a' + 1);
  }

  Json row(const std::string& name) const {
    return {{"case", token(name)},
            {"method", "fftw"},
            {"data", {{"kind", "gaussian"}, {"scale", 1.}, {"filter", "random"}, {"seed", "7"}}},
            {"order", 1},
            {"verify",
             {{"status", "passed"},
              {"samples", 8},
              {"rel_l2", 1e-16},
              {"rel_max", 1e-16},
              {"snr_db", nullptr},
              {"gain_error", 0.},
              {"bound", 1e-15},
              {"clearance", 0.1},
              {"worst", 3},
              {"truth", "direct"}}}};
  }

  std::string asked(const std::string& name) const { return identity(row(name)); }

  std::string line(const std::string& name, const std::string& sources = kRevision.sources) {
    Json whole = {{"schema", 1}, {"kind", "verify"}};
    whole.update(row(name));
    whole["asked"] = asked_fields(token(name));
    whole.update(provenance(console_));
    whole["sources"] = sources;
    return whole.dump() + '\n';
  }

  std::string refusal(const std::string& content) {
    write_file(path_, content);
    try {
      ResultFile(console_, path_, "verify", {});
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(read_file(path_), content) << "a refused file must stay as it is";
      return error.what();
    }
    return "";
  }

  Folder folder_;
  std::string path_ = folder_ / "rows.jsonl";
  std::ostringstream out_, err_;
  Console console_{out_, err_, false, {"danaus", "verify", "--json", path_}};
};

TEST_F(Record, RowsCarrySchemaKindAndProvenance) {
  ResultFile(console_, path_, "verify", {}).append(row("a"));
  const Json read = Json::parse(read_file(path_));
  EXPECT_EQ(read.at("schema"), 1);
  EXPECT_EQ(read.at("kind"), "verify");
  EXPECT_EQ(read.at("case"), token("a"));
  EXPECT_EQ(read.at("argv").size(), 4);
  for (const char* field : {"date", "git", "dirty", "sources", "host"}) EXPECT_TRUE(read.contains(field)) << field;
}

TEST_F(Record, ARowIsInTheFileAsSoonAsItIsMade) {
  ResultFile results(console_, path_, "verify", {});
  results.append(row("a"));
  EXPECT_EQ(read_file(path_).back(), '\n');
}

TEST_F(Record, StandingRowsAreFoundAgain) {
  ResultFile(console_, path_, "verify", {}).append(row("a"));
  ResultFile again(console_, path_, "verify", {asked("a"), asked("b")});
  ASSERT_NE(again.standing(asked("a")), nullptr);
  EXPECT_EQ(again.standing(asked("a"))->at("order"), 1);
  EXPECT_EQ(again.standing(asked("b")), nullptr);
}

TEST_F(Record, IdentityKnowsMethodDataAndScaling) {
  Json one = {{"case", "a"}, {"method", "rounded"}, {"data", {{"scale", 1}}}, {"scaling", "unitary"}};
  for (const char* field : {"case", "method", "operation", "states", "data", "scaling"}) {
    Json other = one;
    other[field] = "other";
    EXPECT_NE(identity(one), identity(other)) << field;
  }
  Json same = one;
  same["verify"] = {{"status", "passed"}};
  EXPECT_EQ(identity(one), identity(same));
}

TEST_F(Record, AHalfWrittenLastLineIsDroppedWithANotice) {
  write_file(path_, line("a") + line("b").substr(0, 30));
  {
    ResultFile results(console_, path_, "verify", {asked("a"), asked("b")});
    EXPECT_NE(results.standing(asked("a")), nullptr);
    EXPECT_EQ(results.standing(asked("b")), nullptr);
    results.append(row("b"));
  }
  EXPECT_THAT(err_.str(), HasSubstr("rows.jsonl, line 2: half-written"));
  EXPECT_NE(ResultFile(console_, path_, "verify", {asked("b")}).standing(asked("b")), nullptr);
  EXPECT_EQ(folder_.files().size(), 1);
}

TEST_F(Record, ALastLineThatOnlyLacksItsEndStands) {
  write_file(path_, line("a").substr(0, line("a").size() - 1));
  ResultFile results(console_, path_, "verify", {asked("a")});
  EXPECT_NE(results.standing(asked("a")), nullptr);
  EXPECT_EQ(read_file(path_), line("a"));
}

TEST_F(Record, RowsOfOtherSourcesAreMadeAnewWhereTheyAreAskedFor) {
  write_file(path_, line("a", "older") + line("b", "older") + line("c"));
  ResultFile results(console_, path_, "verify", {asked("a"), asked("c")});
  EXPECT_EQ(results.standing(asked("a")), nullptr);
  EXPECT_NE(results.standing(asked("c")), nullptr);
  EXPECT_EQ(read_file(path_), line("b", "older") + line("c")) << "b was not asked for and stays";
  EXPECT_THAT(err_.str(), HasSubstr("1 rows are not current, made anew"));
}

TEST_F(Record, ASkippedRowIsTriedAgain) {
  Json skipped = Json::parse(line("a"));
  skipped["verify"] = {{"status", "skipped"}, {"reason", "no recording"}};
  write_file(path_, skipped.dump() + '\n');
  EXPECT_EQ(ResultFile(console_, path_, "verify", {asked("a")}).standing(asked("a")), nullptr);
}

TEST_F(Record, RefusesWhatIsNotItsOwn) {
  EXPECT_THAT(refusal(line("a") + "{\"schema\": 2, \"kind\": \"verify\"}\n"), HasSubstr("line 2: schema 2, must be 1"));
  EXPECT_THAT(refusal("{\"kind\": \"verify\"}\n"), HasSubstr("line 1: schema null, must be 1"));
  EXPECT_THAT(refusal("{\"schema\": 1, \"kind\": \"model\"}\n"), HasSubstr("kind \"model\", must be \"verify\""));
  EXPECT_THAT(refusal("case,error\n1,2\n"), HasSubstr("line 1: not a JSON object"));
  EXPECT_THAT(refusal("[1, 2]\n"), HasSubstr("not a JSON object"));
}

TEST_F(Record, DropsAsHalfWrittenOnlyWhatBeginsLikeItsRows) {
  EXPECT_THAT(refusal("my only copy"), HasSubstr("line 1: not a JSON object"));
  EXPECT_THAT(refusal("{\"schema\":1,\"kind\":\"model\",\"case\":\"a"), HasSubstr("line 1: not a JSON object"));
  EXPECT_THAT(refusal("{\"schema\":1"), HasSubstr("line 1: not a JSON object")) << "nobody knows of which kind";
  EXPECT_THAT(refusal(line("a") + "a note of mine"), HasSubstr("line 2: not a JSON object"));
  for (const std::string& left : {line("b").substr(0, 30), line("a") + "{\"sche"}) {
    write_file(path_, left);
    ResultFile results(console_, path_, "verify", {});
    EXPECT_EQ(read_file(path_), left.starts_with(line("a")) ? line("a") : "");
  }
}

TEST_F(Record, NamesADamagedField) {
  const auto damaged = [&](const char* place, const Json& value) {
    Json whole = Json::parse(line("b"));
    whole[Json::json_pointer(place)] = value;
    return refusal(line("a") + whole.dump() + '\n');
  };
  const std::string where = "result file " + path_ + ", line 2: ";
  EXPECT_EQ(damaged("/verify", nullptr), where + "verify is null, must be \"object\"");
  EXPECT_EQ(damaged("/verify", Json::array()), where + "verify is [], must be \"object\"");
  EXPECT_EQ(damaged("/verify", 3), where + "verify is 3, must be \"object\"");
  for (const Json& value : {Json(nullptr), Json("perhaps"), Json(3), Json::array({"passed"})})
    EXPECT_EQ(damaged("/verify/status", value),
              where + "verify.status is " + value.dump() + ", must be \"passed\", \"failed\" or \"skipped\"");
  EXPECT_EQ(damaged("/verify/bound", "1e-15"), where + "verify.bound is \"1e-15\", must be \"number\"");
  EXPECT_EQ(damaged("/case", nullptr), where + "case is null, must be \"string\"");
  EXPECT_EQ(damaged("/argv/0", 1), where + "argv[0] is 1, must be \"string\"");
  EXPECT_EQ(damaged("/verdict", 1), where + "verdict is no field of this kind");
  Json lacking = Json::parse(line("b"));
  lacking["verify"].erase("bound");
  EXPECT_EQ(refusal(lacking.dump() + '\n'), "result file " + path_ + ", line 1: verify.bound is missing");
}

TEST_F(Record, OneProcessAtATimeWritesAFile) {
  write_file(path_, line("a", "older") + line("b"));
  ResultFile results(console_, path_, "verify", {asked("a")});  // which replaces the file: a is made anew
  try {
    ResultFile(console_, path_, "verify", {});
    FAIL() << "two at once";
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(error.what(), "cannot write " + path_ + ": another process is writing to it");
  }
  results.append(row("a"));
  EXPECT_EQ(read_file(path_).find(line("b")), 0u);
}

TEST_F(Record, AFileThatLosesRowsKeepsItsMode) {
  write_file(path_, line("a", "older"));
  const auto mode = std::filesystem::perms(0640);
  std::filesystem::permissions(path_, mode);
  ResultFile(console_, path_, "verify", {asked("a")});
  EXPECT_EQ(read_file(path_), "");
  EXPECT_EQ(std::filesystem::status(path_).permissions(), mode);
}

TEST_F(Record, AFullDiskIsReported) {
  ResultFile results(console_, "/dev/full", "verify", {});
  try {
    results.append(row("a"));
    FAIL() << "a full disk went unnoticed";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "cannot write /dev/full: No space left on device");
  }
}

TEST_F(Record, ARowThatDoesNotFitIsNotLeftHalfWritten) {
  ResultFile results(console_, path_, "verify", {});
  const Json first = results.append(row("a"));
  const std::string before = read_file(path_);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old;
  getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small{before.size() + 20, old.rlim_max};  // the next row breaks off after 20 bytes
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THROW(results.append(row("b")), std::invalid_argument);
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_EQ(read_file(path_), before);
  EXPECT_EQ(results.append(row("b")).at("case"), token("b"));
}

}  // namespace
}  // namespace danaus
