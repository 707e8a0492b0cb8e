// danaus explore and --mask as a person meets them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "experiments/cli/environment.hpp"
#include "experiments/io/signal_file.hpp"
#include "tests/experiments/support.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

constexpr const char* kCase = "fftconv_f16_circular_l256_b4_h2";

void write_array(const std::string& path, std::vector<std::int64_t> shape, double value = 0.5) {
  std::int64_t size = 1;
  for (std::int64_t extent : shape) size *= extent;
  std::vector<double> values(size);
  for (std::int64_t i = 0; i < size; ++i) values[i] = value * std::cos(0.01 * static_cast<double>(i * i % 977));
  PendingFile file(path);
  write_npy(file, {Dtype::f32, std::move(shape), values});
  file.commit();
}

TEST(Explore, AnswersInOneLineAndItsMaskGoesBackIntoOtherCommands) {
  const Folder folder;
  const std::string mask = folder / "best.json", rows = folder / "rows.jsonl";
  const Ran best = run({"explore", "--case", kCase, "--filters", "s4d", "--inputs", "uniform", "--count", "5",
                        "--best-above-snr", "10", "--output", mask, "--json", rows});
  ASSERT_EQ(best.code, 0) << best.err;
  EXPECT_EQ(std::count(best.out.begin(), best.out.end(), '\n'), 1);
  EXPECT_THAT(best.out, HasSubstr("would take"));
  EXPECT_THAT(best.out, HasSubstr("--mask " + mask));

  const Ran verified = run({"verify", "--case", kCase, "--mask", mask, "--method", "fftw", "--method", "kernel"});
  EXPECT_EQ(verified.code, 0) << verified.err << verified.out;
  EXPECT_THAT(verified.out, HasSubstr("2 passed"));

  // Again: every row stands.
  const std::string before = read_file(rows);
  const Ran again = run({"explore", "--case", kCase, "--filters", "s4d", "--inputs", "uniform", "--count", "5",
                         "--best-above-snr", "10", "--json", rows});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr(", 0 to go"));
  EXPECT_EQ(read_file(rows), before);
}

// A band-stop leaves something in every piece of the spectrum. The kernel then skips nothing.
TEST(Explore, SaysThatNoMaskSavesTimeAndTakesTheOneThatRemovesMost) {
  const Folder folder;
  const std::vector<std::string> words = {"explore", "--case",  kCase, "--inputs", "gaussian",           "--pattern",
                                          "band",    "--count", "9",   "--json",   folder / "rows.jsonl"};
  const Ran front = run(words);
  ASSERT_EQ(front.code, 0) << front.err;
  EXPECT_THAT(front.out, HasSubstr("no mask of these saves time"));
  std::vector<std::string> asked = words;
  asked.insert(asked.end(), {"--best-above-snr", "0"});
  const Ran best = run(asked);
  ASSERT_EQ(best.code, 0) << best.err;
  EXPECT_THAT(best.out, HasSubstr(": no mask of this SNR saves time (by counted work on H200)"));
  double most = 0;
  std::istringstream lines(read_file(folder / "rows.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const Json row = Json::parse(line);
    EXPECT_EQ(row.at("us"), row.at("dense_us"));
    if (row.value("snr_db", 1e9) >= 0) most = std::max(most, row.at("zeros").get<double>());
  }
  std::ostringstream removed;
  removed << std::fixed << std::setprecision(1) << 100 * most << " % of the spectrum removed";
  EXPECT_THAT(best.out, HasSubstr(removed.str()));
}

TEST(Explore, NoticesOfFilesAreSaid) {
  const Folder folder;
  write_array(folder / "K.NPY", {300, 256});
  const Ran ran = run({"explore", "--filters", folder / "K.NPY", "--inputs", "gaussian", "--pattern", "low", "--count",
                       "1", "--json", "-"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("K.NPY is [300, 256], read as 300 channels of 256 samples"));
  PendingFile file(folder / "none.npy");
  write_npy(file, {Dtype::f32, {0, 256}, {}});
  file.commit();
  EXPECT_THAT(run({"explore", "--filters", folder / "none.npy"}).err, HasSubstr("is [0, 256], must have at least one"));
}

TEST(Explore, TakesFiltersOfAFile) {
  const Folder folder;
  write_array(folder / "k.npy", {3, 200});
  const Ran ran = run({"explore", "--filters", folder / "k.npy", "--inputs", "gaussian", "--pattern", "low", "--count",
                       "3", "--json", "-"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("\"dense_case\":\"fftconv_f16_circular_l256_k200_b64_h3_n256_pair_r16x16\""));
  EXPECT_THAT(ran.out, HasSubstr("\"channels\":3"));
}

TEST(Explore, PartialFiltersHaveRowsOfTheirOwn) {
  const Ran ran =
      run({"explore", "--partial", "--case", "fftconv_f16_causal_l256_b1_h1", "--inputs", "gaussian", "--json", "-"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("\"kind\":\"partial\""));
}

TEST(Explore, RefusesWhatMakesNoSense) {
  const Folder folder;
  write_array(folder / "cube.npy", {2, 3, 4});
  write_array(folder / "zero.npy", {2, 256}, 0);
  write_array(folder / "nan.npy", {256}, NAN);
  write_array(folder / "five.npy", {5, 256});
  write_array(folder / "short.npy", {2, 100});
  const std::string mask = folder / "mask.json", out = folder / "best.json";
  write_file(mask, R"({"fft_size": 512, "kept": [[0, 3]]})");
  const struct {
    std::vector<std::string> words;
    std::string message;
  } kWrong[] = {
      {{"--filters", folder / "cube.npy"}, "have 3 dimensions, must be [K] or [H, K]"},
      {{"--filters", folder / "zero.npy"}, "are all zero"},
      {{"--filters", folder / "nan.npy"}, "has nan at index 0, must be finite"},
      {{"--filters", folder / "five.npy", "--case", kCase}, "are of H=5"},
      {{"--filters", folder / "short.npy", "--case", kCase}, "have K=100"},
      {{"--filters", "box"}, "filters 'box', must be one of"},
      {{"--inputs", "pink"}, "inputs 'pink', must be one of"},
      {{"--pattern", "file"}, "pattern 'file', must have a mask; --mask FILE names one"},
      {{"--pattern", "holes"}, "pattern 'holes', must be one of"},
      {{"--case", kCase, "--mask", mask}, "has N=512 frequencies"},
      {{"--case", std::string(kCase) + "_keep0to3"}, "has a mask; name the case without it"},
      {{"--case", std::string(kCase) + "_pregate"}, "has gates"},
      {{"--case", std::string(kCase) + "_rightangle"}, "a frequency mask needs pair or plain"},
      {{"--case", kCase, "--blocks", "8xx1"}, "must be as 8x4x1x1"},
      {{"--case", kCase, "--blocks", "3x1", "--pattern", "energy"}, "must divide its 16 indices"},
      {{"--count", "0"}, "count=0, must be from 1"},
      {{"--seed", "-1"}, "seed=-1"},
      {{"--best-above-snr", "inf"}, "must be a number of decibels"},
      {{"--output", out}, "name --best-above-snr"},
      {{"--partial", "--pattern", "low"}, "--partial has no masks"},
      {{"--case", kCase, "--pattern", "random", "--count", "3", "--best-above-snr", "300", "--output", out},
       "patterns has an SNR of 300 dB; the highest is"},
  };
  for (auto [words, message] : kWrong) {
    words.insert(words.begin(), "explore");
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, 2) << message;
    EXPECT_EQ(ran.out, "") << message;
    EXPECT_THAT(ran.err, HasSubstr(message));
  }
  for (const std::string& name : folder.files()) EXPECT_EQ(name.find("best"), name.npos) << name;
}

TEST(Mask, IsTakenByConvolve) {
  const Folder folder;
  write_array(folder / "u.npy", {2, 256});
  write_array(folder / "k.npy", {256}, 0.1);
  write_file(folder / "mask.json", R"({"factors": [16, 16], "zeroed": [12, 0]})");
  for (const char* method : {"fftw", "monarch", "direct"}) {
    const Ran ran = run({"convolve", folder / "u.npy", folder / "k.npy", "--mode", "circular", "--mask",
                         folder / "mask.json", "--method", method, "-o", folder / (std::string(method) + ".npy")});
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("zero12x0"));
  }
  const Signal by_fftw = read_signal(folder / "fftw.npy"), by_sum = read_signal(folder / "direct.npy");
  for (std::size_t i = 0; i < by_fftw.values.size(); ++i) EXPECT_NEAR(by_fftw.values[i], by_sum.values[i], 1e-5);
  const Ran plain = run({"convolve", folder / "u.npy", folder / "k.npy", "--mode", "circular", "-o", folder / "y.npy"});
  ASSERT_EQ(plain.code, 0);
  EXPECT_NE(read_file(folder / "y.npy"), read_file(folder / "fftw.npy"));
}

TEST(Mask, OfACommandNeedsACase) {
  for (const char* command : {"verify", "bench"}) {
    const Ran ran = run({command, "--mask", "mask.json"});
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err, HasSubstr("--mask is for the cases given by --case"));
  }
}

}  // namespace
}  // namespace danaus
