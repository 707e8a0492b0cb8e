// danaus random: draws what it says, the same each time, and sees a wrong result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "experiments/random/random_case.hpp"
#include "kernels/cpu/machine.hpp"
#include "reference/convolution/convolve.hpp"
#include "tests/experiments/support.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

TEST(RandomCases, AreTheSameAgainAndOthersByNumberAndSeed) {
  const RandomCase c = random_case(3, 14);
  EXPECT_EQ(token(random_case(3, 14).problem), token(c.problem));
  EXPECT_EQ(random_case(3, 14).seed, c.seed);
  EXPECT_NE(random_case(3, 15).seed, c.seed);
  EXPECT_NE(random_case(4, 14).seed, c.seed);
}

TEST(RandomCases, ReachEverythingThatACallMayDifferIn) {
  std::set<std::tuple<Dtype, Dtype, Mode>> types;
  std::set<std::pair<bool, bool>> gates;
  std::set<RandomFilter> filters;
  int aligned = 0, together = 0, apart = 0, beside_a_size = 0, longer_filters = 0;
  for (int number = 0; number < 1000; ++number) {
    const RandomCase c = random_case(0, number);
    const Convolution& p = c.problem;
    EXPECT_NO_THROW(validate(p));
    EXPECT_LE(p.batch * p.channels * p.length, 1 << 17);
    types.emplace(p.dtype, p.filter, p.mode), gates.emplace(p.pregate, p.postgate), filters.insert(c.filter);
    const std::set<int> offsets(c.offsets.begin(), c.offsets.end());
    ++(offsets.size() > 1 ? apart : *offsets.begin() == 0 ? aligned : together);
    for (int size : {256, 1024, 4096, 32768}) beside_a_size += p.length < size && p.length > size - 8;
    longer_filters += p.filter_length > p.length;
  }
  EXPECT_EQ(types.size(), 2u * 3 * 2);
  EXPECT_EQ(gates.size(), 4u);
  EXPECT_EQ(filters.size(), kRandomFilters.size());
  for (int count : {aligned, together, apart, beside_a_size, longer_filters}) EXPECT_GT(count, 20);
}

// As close to the truth as its bound says, where y is what a filter of one last tap leaves of u, and where it is all.
TEST(RandomCases, AreJudgedByWhatWasSummed) {
  for (const char* word : {"fftconv_f16_causal_l1000_b2_h2", "fftconv_bf16_circular_l1001_kbf16_b1_h3_postgate"})
    for (const auto& filter : kRandomFilters) {
      RandomCase c;
      c.problem = parse_convolution(word);
      c.filter = filter.value;
      const RandomVerdict verdict = judge(c, executor_machine());
      EXPECT_TRUE(verdict.passed()) << word << ' ' << filter.name << ' ' << verdict.clearance << verdict.violation;
      EXPECT_GT(verdict.error, 0);
    }
}

TEST(RandomCases, AWrongSampleFails) {
  RandomCase c;
  c.problem = parse_convolution("fftconv_f16_causal_l100_b2_h2");
  const Inputs inputs = random_inputs(c);
  std::vector<double> y = convolve(c.problem, inputs, Method::fftw);
  EXPECT_TRUE(verdict_of(c, inputs, y, y, 20).passed());
  std::vector<double> off = y;
  for (double& value : off) value *= 1.01;
  EXPECT_FALSE(verdict_of(c, inputs, y, off, 20).passed());
  off = y;
  std::swap(off[3], off[4]);
  EXPECT_FALSE(verdict_of(c, inputs, y, off, 20).passed());
  off = y;
  off.back() = std::nan("");
  EXPECT_THAT(verdict_of(c, inputs, y, off, 20).violation, HasSubstr("not finite"));
}

TEST(RandomCommand, PrintsItsSeedAndTheWorstCase) {
  const Ran ran = run({"random", "--count", "5", "--seed", "7"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("seed 7: 5 cases, 0 failed"));
  EXPECT_THAT(ran.out, HasSubstr("worst: number"));
  EXPECT_EQ(run({"random", "--seed", "7", "--only", "3"}).code, 0);
  EXPECT_EQ(run({"random", "--count", "0"}).code, 2);
  EXPECT_EQ(run({"random", "--only", "3", "--count", "5"}).code, 2);
}

}  // namespace
}  // namespace danaus
