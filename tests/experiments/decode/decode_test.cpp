// danaus decode: spans of positions, what is predicted of them, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/decode/decoding.hpp"
#include "kernels/cuda/machine.hpp"
#include "tests/experiments/support.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

double us_of(const Json& row, std::size_t octave) { return row.at("positions").at(octave).at("us"); }

TEST(Decode, SpansDoubleAndEndWithTheSequence) {
  const std::vector<Octave> octaves = octaves_of(1000);
  ASSERT_EQ(octaves.size(), 5u);
  EXPECT_EQ(octaves.front().from, 0);
  for (std::size_t i = 1; i < octaves.size(); ++i) {
    EXPECT_EQ(octaves[i].from, octaves[i - 1].to);
    EXPECT_EQ(octaves[i].from, 64 << (i - 1));
  }
  EXPECT_EQ(octaves.back().to, 1000);
}

// Per position all samples before cost in proportion to them, tiles their launches, and a recurrence the same always.
TEST(Decode, PredictsHowEachWayGrows) {
  const HardwareProfile profile = load_profile("H200");
  const Convolution whole = parse_convolution("fftconv_f16_causal_l8192_b1_h4096");
  const Json dot = predicted({whole, DecodeMethod::dot, 0}, profile);
  const Json tiles = predicted({whole, DecodeMethod::tiles, 0}, profile);
  const Json recurrence = predicted({whole, DecodeMethod::recurrence, 16}, profile);
  const std::size_t last = octaves_of(8192).size() - 1;
  EXPECT_NEAR(us_of(dot, last) / us_of(dot, last - 1), 2, 0.2);
  EXPECT_GT(us_of(dot, last), 10 * us_of(tiles, last));
  EXPECT_GT(us_of(tiles, 1), us_of(tiles, 0)) << "the first tile";
  EXPECT_LT(us_of(tiles, last), 1.5 * us_of(tiles, 1));
  EXPECT_EQ(us_of(recurrence, last), us_of(recurrence, 0));
}

TEST(Decode, PrintsAndKeepsItsRows) {
  const std::vector<std::string> words = {"decode", "--case", "fftconv_bf16_causal_l300_b2_h8", "--states", "8"};
  const Ran ran = run(words);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("recurrence, S=8, us"));
  EXPECT_THAT(ran.out, HasSubstr("256 to 300"));
}

TEST(Decode, RefusesWhatIsNotDecoded) {
  const auto error = [](std::vector<std::string> words) {
    words.insert(words.begin(), "decode");
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, 2);
    return ran.err;
  };
  EXPECT_THAT(error({"--case", "fftconv_f16_circular_l256_b1_h1"}), HasSubstr("must be causal"));
  EXPECT_THAT(error({"--case", "fftconv_f16_causal_l256_b1_h1_pregate"}), HasSubstr("without gates"));
  EXPECT_THAT(error({"--case", "shortconv_f16_causal_k4_l256_b1_h1"}), HasSubstr("is no convolution"));
  EXPECT_THAT(error({"--case", "fftconv_f16_causal_l256_k9_b1_h1"}), HasSubstr("has K=9, the filter of a recurrence"));
  EXPECT_THAT(error({"--method", "magic"}), HasSubstr("method 'magic', must be one of dot, tiles, recurrence"));
  EXPECT_THAT(error({"--states", "257"}), HasSubstr("states=257, must be from 1 to 256"));
  EXPECT_THAT(error({"--repetitions", "0"}), HasSubstr("repetitions=0, must be at least 1"));
}

TEST(Decode, IsRightAndTimedOnAGpu) {
  if (cuda_device_count() == 0) {
    const Ran ran = run({"decode", "--device", "0"});
    EXPECT_EQ(ran.code, 77);
    GTEST_SKIP() << "no CUDA device";
  }
  const Ran ran = run({"decode", "--case", "fftconv_f16_causal_l700_b2_h9", "--states", "8", "--device", "0",
                       "--repetitions", "2", "--json", "-"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::istringstream lines(ran.out);
  int rows = 0;
  for (std::string line; std::getline(lines, line); ++rows) {
    const Json row = Json::parse(line);
    EXPECT_EQ(row.at("verify").at("status"), "passed") << line;
    for (const Json& span : row.at("positions")) EXPECT_GT(span.at("us"), 0);
  }
  EXPECT_EQ(rows, 3);
}

}  // namespace
}  // namespace danaus
