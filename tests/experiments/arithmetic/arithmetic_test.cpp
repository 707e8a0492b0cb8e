// Instructions against their rules: the executor follows them, and a machine that does not is found out.
#include "experiments/arithmetic/arithmetic.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "kernels/cuda/machine.hpp"
#include "tests/experiments/support.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

std::size_t number_of(std::string_view name) {
  const auto all = instructions();
  return std::size_t(std::ranges::find(all, name, &Instruction::name) - all.begin());
}

class Instructions : public testing::TestWithParam<std::size_t> {};

TEST_P(Instructions, OfTheExecutorFollowTheirRules) {
  const Instruction& of = instructions()[GetParam()];
  const std::int64_t count = of.is_product() ? 40 * of.outputs() : 4000;
  const Findings findings = hold(of, rule_of(of, 90), count, 1,
                                 [&](const OperandWords& operands) { return run_on_executor(GetParam(), operands); });
  EXPECT_EQ(findings.misses, 0) << of.name << ": " << findings.follows;
  EXPECT_GE(findings.outputs, count);
}

INSTANTIATE_TEST_SUITE_P(All, Instructions, testing::Range(std::size_t{0}, instructions().size()));

TEST(Arithmetic, NamesAreDistinct) {
  std::set<std::string_view> names;
  for (const Instruction& of : instructions()) EXPECT_TRUE(names.insert(of.name).second) << of.name;
}

// A machine that follows `followed`.
Findings findings_of(std::string_view name, const host::ProductRule& followed, std::int64_t count = 200'000) {
  const Instruction& of = instructions()[number_of(name)];
  return hold(of, rule_of(of, 90), count, 2,
              [&](const OperandWords& operands) { return expected_outputs(of, operands, followed); });
}

TEST(Arithmetic, AnotherRuleOfProductsIsNamed) {
  for (const std::string_view name : {"mma.m16n8k16.f32.f16", "mma.m16n8k16.f32.bf16", "wgmma.m64n64k16.f32.f16"}) {
    EXPECT_EQ(findings_of(name, {16, 25}).misses, 0);
    EXPECT_EQ(findings_of(name, {8, 24}).follows, "groups of 8, 24 bits") << name;
    EXPECT_EQ(findings_of(name, {16, 26}).follows, "groups of 16, 26 bits") << name;
    EXPECT_EQ(findings_of(name, {4, 23}).follows, "groups of 4, 23 bits") << name;
  }
  EXPECT_EQ(findings_of("mma.m16n8k8.f32.tf32", {4, 24}).follows, "groups of 4, 24 bits");
  const Findings halves = findings_of("mma.m16n8k16.f16.f16", {8, 24});
  EXPECT_GT(halves.misses, 0);
  EXPECT_EQ(halves.follows, "groups of 8, 24 bits");
}

TEST(Arithmetic, OneWrongBitIsAMissAndIsShown) {
  const Instruction& of = instructions()[number_of("mma.m16n8k16.f32.f16")];
  bool wrong = false;
  const Findings findings = hold(of, rule_of(of, 90), 10'000, 3, [&](const OperandWords& operands) {
    auto outputs = expected_outputs(of, operands, rule_of(of, 90));
    if (!std::exchange(wrong, true)) outputs[7] ^= 1;
    return outputs;
  });
  EXPECT_EQ(findings.misses, 1);
  ASSERT_TRUE(findings.first);
  EXPECT_EQ(findings.first->computed ^ findings.first->expected, 1u);
  EXPECT_EQ(
      host::multiply_add(rule_of(of, 90), of.factor, false, findings.first->a, findings.first->b, findings.first->c),
      findings.first->expected);
  EXPECT_THAT(findings.follows, HasSubstr("no rule that was tried; the nearest, groups of 16, 25 bits, misses 1 of "));
}

TEST(Arithmetic, ZerosOfTheOtherSignAreCounted) {
  const Instruction& of = instructions()[number_of("mul.f16x2")];
  const Findings findings = hold(of, rule_of(of, 90), 50'000, 3, [&](const OperandWords& operands) {
    auto outputs = expected_outputs(of, operands, {});
    for (std::uint32_t& word : outputs) word = word == 0x8000 ? 0 : word;
    return outputs;
  });
  EXPECT_GT(findings.misses, 0);
  EXPECT_EQ(findings.zero_signs, findings.misses);
}

TEST(Arithmetic, SubnormalsThatAreFlushedAreNamed) {
  const std::size_t number = number_of("fma.f16x2");
  const Instruction& of = instructions()[number];
  const Findings findings = hold(of, {}, 50'000, 3, [&](const OperandWords& operands) {
    auto outputs = expected_outputs(of, operands, {});
    for (std::uint32_t& word : outputs)
      if ((word & 0x7fff) < 0x400) word &= 0x8000;
    return outputs;
  });
  EXPECT_EQ(findings.follows, "subnormal results are zero");
}

TEST(Arithmetic, TakesAGpu) {
  if (cuda_device_count() > 0) GTEST_SKIP() << "has one";
  const Ran outcome = run({"arithmetic"});
  EXPECT_EQ(outcome.code, 77);
  EXPECT_THAT(outcome.err, HasSubstr("arithmetic"));
  EXPECT_EQ(run({"arithmetic", "--count", "0"}).code, 2);
  EXPECT_THAT(run({"arithmetic", "--instruction", "mma.m16n8k16.f32.f6"}).err, HasSubstr("mma.m16n8k16.f32.f16"));
}

}  // namespace
}  // namespace danaus
