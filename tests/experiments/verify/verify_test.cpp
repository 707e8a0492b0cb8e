// danaus verify: right methods pass, wrong ones do not, and an interrupted sweep goes on where it stopped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <set>

#include "experiments/cli/environment.hpp"
#include "experiments/cli/interrupt.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/io/result_file.hpp"
#include "experiments/verify/trials.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/registry.hpp"
#include "tests/experiments/support.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

std::vector<double> right(const Convolution& problem, const Inputs& inputs) {
  return convolve(problem, inputs, Method::monarch);
}
std::vector<double> one_percent_off(const Convolution& problem, const Inputs& inputs) {
  std::vector<double> y = right(problem, inputs);
  for (double& value : y) value *= 1.01;
  return y;
}
std::vector<double> nothing(const Convolution&, const Inputs& inputs) {
  return std::vector<double>(inputs.u.size(), 0.);
}
std::vector<double> not_a_number(const Convolution& problem, const Inputs& inputs) {
  std::vector<double> y = right(problem, inputs);
  y.back() = std::nan("");
  return y;
}

double bound(const Convolution& planned) { return bound_l2(planned.dtype, static_cast<int>(planned.factors.size())); }

Candidate candidate(const char* name, std::vector<double> (*compute)(const Convolution&, const Inputs&)) {
  return {name, std::nullopt, "", false, compute, &bound};
}

Ran verify_with(std::span<const Candidate> table, const std::vector<std::string>& words) {
  std::ostringstream out, err;
  Console console{out, err, false, {"danaus", "verify"}};
  const int code = verify(words, console, table);
  return {code, out.str(), err.str()};
}

constexpr const char* kCase = "fftconv_f16_causal_l300_b2_h2_pregate";

TEST(Verify, RightMethodsPassOnEveryKindOfCase) {
  const Ran ran = run({"verify", "--case", kCase, "--case", "fftconv_f32_circular_l64_k100_b3_h2_half", "--case",
                       "fftconv_bf16_circular_l64_b1_h2_n64_pair_r8x8_zero4x2", "--data", "heavy_tailed", "--scale",
                       "0.02", "--filter", "s4d"});
  EXPECT_EQ(ran.code, 0) << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("10 rows: 10 passed, 0 failed, 0 skipped"));
}

TEST(Verify, AMethodAskedForByNameSaysWhyItDoesNotComputeACase) {
  const Ran ran = run({"verify", "--case", kCase, "--case", "fftconv_f32_circular_l64_b1_h1", "--method", "kernel"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("dtype f32 has no kernel"));
  EXPECT_EQ(ran.out, "");
}

TEST(Verify, TheMatrixHasEachRowOnceAndEveryKernelOfTheExecutorsDevice) {
  std::set<std::string> rows, verified, all;
  for (const Trial& trial : trial_sweeps().front().trials(candidates())) {
    EXPECT_TRUE(rows.insert(identity(describe(trial))).second) << repeat_command(trial);
    if (trial.candidate.name == "kernel") verified.insert(choose(trial.problem, Device()).name);
  }
  for (const auto& variant : variants())
    if (variant->compiled && variant->suits(0)) all.insert(variant->name);
  EXPECT_TRUE(std::ranges::includes(verified, all));  // and long ones, of several launches
}

TEST(Verify, WrongMethodsFailAndSayHowToRepeatIt) {
  for (const Candidate& wrong :
       {candidate("wrong", one_percent_off), candidate("wrong", nothing), candidate("wrong", not_a_number)}) {
    const Ran ran =
        verify_with(std::array{wrong}, {"--case", kCase, "--scale", "0.02", "--filter", "hyena", "--seed", "3"});
    EXPECT_EQ(ran.code, 1);
    EXPECT_THAT(ran.out, HasSubstr("1 rows: 0 passed, 1 failed"));
    EXPECT_THAT(ran.out, HasSubstr(std::string("repeat: danaus verify --case ") + kCase +
                                   " --method wrong --scale 0.02 --filter hyena --seed 3\n"));
  }
}

// Where rounding noise alone may reach 1.5 %: the gain tells.
TEST(Verify, AScaleErrorOfOnePercentFailsInBf16) {
  const auto rounded_and_off = [](const Convolution& problem, const Inputs& inputs) {
    std::vector<double> y = convolve_rounded(problem, inputs);
    for (double& value : y) value *= 1.01;
    return y;
  };
  for (const char* word : {"fftconv_bf16_circular_l1024_b2_h4_n1024_pair_r32x32", "fftconv_bf16_causal_l4096_b2_h1"}) {
    EXPECT_EQ(run({"verify", "--case", word, "--method", "rounded"}).code, 0);
    const Ran ran = verify_with(std::array{candidate("off", rounded_and_off)}, {"--case", word});
    EXPECT_THAT(ran.out, HasSubstr("1 rows: 0 passed, 1 failed"));
  }
}

TEST(Verify, OneFailureAmongManyRowsIsEnough) {
  const std::array table = {candidate("right", right), candidate("wrong", one_percent_off)};
  const Ran ran = verify_with(table, {"--case", kCase, "--case", "fftconv_f16_circular_l8_b1_h1", "--summary"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("4 rows: 2 passed, 2 failed"));
}

TEST(Verify, OneSidedScalingFailsInHalfAtSmallScale) {
  const std::vector<std::string> words = {
      "verify", "--case", "fftconv_f16_circular_l16384_b2_h1_pair", "--method", "rounded", "--scale", "0.02"};
  EXPECT_EQ(run(words).code, 0);
  std::vector<std::string> one_side = words;
  one_side.insert(one_side.end(), {"--scaling", "one_side"});
  const Ran ran = run(one_side);
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("--scaling one_side --scale 0.02\n"));
}

TEST(Verify, RowsHaveTheFormThatFiguresRead) {
  const Ran ran = run({"verify", "--case", kCase, "--json", "-"});
  std::istringstream lines(ran.out);
  std::vector<std::string> methods;
  for (std::string line; std::getline(lines, line);) {
    const Json row = Json::parse(line);
    EXPECT_EQ(row.at("schema"), 1);
    EXPECT_EQ(row.at("kind"), "verify");
    EXPECT_EQ(row.at("case"), kCase);
    methods.push_back(row.at("method"));
    EXPECT_EQ(row.contains("scaling"), methods.back() == "rounded");
    EXPECT_GE(row.at("order"), 1);
    EXPECT_EQ(row.at("data").at("kind"), "gaussian");
    EXPECT_TRUE(row.at("data").at("seed").is_string());
    const Json& verdict = row.at("verify");
    EXPECT_EQ(verdict.at("status"), "passed");
    EXPECT_LE(verdict.at("rel_l2"), verdict.at("bound"));
    EXPECT_GE(verdict.at("clearance"), verdict.at("rel_l2").get<double>() / verdict.at("bound").get<double>());
  }
  EXPECT_EQ(methods, (std::vector<std::string>{"fftw", "monarch", "rounded", "kernel"}));
  EXPECT_THAT(ran.err, HasSubstr("danaus verify\n  rows"));
}

TEST(Verify, ARecordingIsReadWhereThereIsOneAndElseSkipped) {
  const std::vector<std::string> words = {"verify", "--case", kCase,       "--method",
                                          "fftw",   "--data", "recording", "--recording"};
  const Folder folder;
  std::vector<std::string> with = words;
  with.push_back(folder / "");
  const Ran absent = run(with);
  EXPECT_EQ(absent.code, 0);
  EXPECT_THAT(absent.out, HasSubstr("0 passed, 0 failed, 1 skipped"));
  EXPECT_THAT(absent.err, HasSubstr("rows that need it are skipped"));
  with.insert(with.end(), {"--json", "-"});
  EXPECT_THAT(run(with).out, HasSubstr("no recording: " + folder / "" + " has no .wav file"));
}

TEST(Verify, ARecordingThatWasNamedIsThere) {
  const Folder folder;
  write_file(folder / "a.wav", "no folder");
  for (const std::string& named : {std::string("/nonexistent"), folder / "a.wav"}) {
    const Ran ran = run({"verify", "--case", kCase, "--data", "recording", "--recording", named});
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.err, "danaus: verify: recording '" + named + "', must be a folder with .wav files\n");
  }
}

TEST(Verify, EverySweepSelectsRowsByOption) {
  const Ran ran = run({"verify", "--method", "fftw", "--data", "impulse", "--filter", "s4d", "--scale", "1"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, HasSubstr("2 rows: 2 passed"));
}

std::atomic<int> calls;

std::vector<double> interrupted_at_the_third(const Convolution& problem, const Inputs& inputs) {
  if (++calls == 3) set_interrupt(true);
  return right(problem, inputs);
}

TEST(Verify, GoesOnWhereItWasInterrupted) {
  const Folder folder;
  const std::string path = folder / "rows.jsonl";
  std::vector<std::string> words = {"--json", path};
  for (int length = 10; length < 30; ++length) {
    words.push_back("--case");
    words.push_back("fftconv_f64_circular_l" + std::to_string(length) + "_b1_h1");
  }
  const std::array table = {candidate("monarch", interrupted_at_the_third)};
  calls = 0;
  EXPECT_THROW(verify_with(table, words), Interrupted);
  set_interrupt(false);
  const std::string before = read_file(path);
  EXPECT_LT(std::count(before.begin(), before.end(), '\n'), 20);

  const int made = calls;
  const Ran rest = verify_with(table, words);
  EXPECT_EQ(rest.code, 0);
  EXPECT_THAT(rest.out, HasSubstr("20 rows: 20 passed"));
  EXPECT_LE(calls - made, 20);
  const std::string after = read_file(path);
  EXPECT_EQ(after.substr(0, before.size()), before);
  EXPECT_EQ(std::count(after.begin(), after.end(), '\n'), 20);

  calls = 100;
  verify_with(table, words);
  EXPECT_EQ(calls, 100) << "nothing was left to compute";
}

TEST(Verify, AFailedRowStillFailsWhenItStands) {
  const Folder folder;
  const std::array table = {candidate("wrong", nothing)};
  for (int time = 0; time < 2; ++time) {
    const Ran ran = verify_with(table, {"--case", kCase, "--json", folder / "rows.jsonl"});
    EXPECT_EQ(ran.code, 1);
    EXPECT_THAT(ran.out, HasSubstr("repeat: danaus verify"));
  }
}

TEST(Verify, AnInterruptIsExit130) {
  set_interrupt(true);
  const Ran ran = run({"verify", "--case", kCase});
  set_interrupt(false);
  EXPECT_EQ(ran.code, 130);
  EXPECT_THAT(ran.err, HasSubstr("interrupted after 0 of 4 rows"));
}

}  // namespace
}  // namespace danaus
