// Long convolutions of which a mask leaves rows between the outer passes out.
#include <gmock/gmock.h>

#include <numbers>

#include "kernels/families/outer/family.hpp"
#include "kernels/plan/long.hpp"
#include "tests/kernels/sparse_support.hpp"
#include "tests/sanitized.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

Plan plan_of(const Convolution& problem, const ExecutorOptions& options = few_blocks()) {
  return Plan(problem, executor_machine(options), marks_of(problem));
}

class LongMasks : public testing::TestWithParam<MaskedLong> {
 protected:
  void SetUp() override {
    const Variant& of = choose(problem_, Device());
    const bool has_all = std::ranges::all_of(long_variants(), [&](const auto& v) {
      return v->size != of.size || v->dtype != of.dtype || !v->suits(device_class_of(Device())) || v->compiled;
    });
    if (!has_all) GTEST_SKIP() << "this build has not all kernels of N=" << of.size;
  }
  const Convolution problem_ = GetParam().problem();
};

TEST_P(LongMasks, GiveTheMaskedConvolution) {
  if (kSanitized && problem_.length > 65536) GTEST_SKIP() << "takes minutes";
  const Inputs inputs = make_inputs(problem_, {});
  const Plan plan = plan_of(problem_);
  SCOPED_TRACE(plan.description());
  expect_right(problem_, inputs, execute_plan(problem_, inputs, {}), plan.variant());
}

TEST_P(LongMasks, PlansSayWhatTheyCompute) {
  const Plan plan = plan_of(problem_);
  const int all = plan.variant().outer_rows();
  EXPECT_THAT(
      plan.description(),
      HasSubstr(GetParam().rows > 0 ? text("computes ", GetParam().rows, " of ", all, " rows between the outer passes")
                                    : "computes all: the mask leaves too much of the rows between the outer passes"));
}

INSTANTIATE_TEST_SUITE_P(Masks, LongMasks, testing::ValuesIn(kMaskedLong));

struct LongWork {
  std::int64_t instructions = 0;          // between the outer passes
  std::int64_t sectors = 0;               // to and from planes
  std::int64_t planes = 0, spectrum = 0;  // bytes of them, of the spectrum that is read
};

LongWork work_of(const Convolution& problem) {
  LongWork work;
  ExecutorOptions options = few_blocks();
  options.observer = [&](const Launch& launch, const host::Counters& counters) {
    const std::string_view family = launch.kernel.family;
    if (family == "spectrum" || family == "mask" || family == "rescaled") return;
    if (family != outer::Family::name) {
      work.instructions += static_cast<std::int64_t>(counters.mma_f16acc);
      work.sectors += static_cast<std::int64_t>(counters.global_store_sectors);
      for (const Region& region : launch.regions)
        if (region.name && std::string_view(region.name) == "spectrum") work.spectrum += region.bytes;
    } else if (launch.regions[0].name != std::string_view("y")) {
      work.sectors += static_cast<std::int64_t>(counters.global_store_sectors);
      for (const Region& region : launch.regions)
        if (region.name && std::string_view(region.name) == "planes")
          work.planes += region.bytes;
        else if (region.name && std::string_view(region.name) == "energies")
          work.sectors -= region.bytes / 8;  // one by one, of samples
    }
  };
  execute_plan(problem, make_inputs(problem, {}), options);
  return work;
}

// 47 of 64 rows: what lies between the outer passes, and what is kept of the filter, are as many of those of all.
TEST(LongMask, DoesLessInProportionToWhatIsDead) {
  Convolution masked = parse_convolution("fftconv_f16_circular_l65536_b2_h2_pregate_r64x32x32_zero0x0x40");
  Convolution dense = masked;
  dense.mask = {}, dense.factors = choose(masked, Device()).factors;
  const LongWork left = work_of(masked), all = work_of(dense);
  EXPECT_GT(all.instructions, 0);
  EXPECT_EQ(64 * left.instructions, 47 * all.instructions);
  EXPECT_EQ(64 * left.sectors, 47 * all.sectors);
  EXPECT_EQ(64 * left.spectrum, 47 * all.spectrum);
  EXPECT_EQ(64 * left.planes, 47 * all.planes);
  constexpr int kRanges = 2 * 2 * 4;  // of channels
  EXPECT_EQ(64 * (plan_of(masked).prepared_bytes() - kRanges), 47 * (plan_of(dense).prepared_bytes() - kRanges));
}

// Of channels, one after the other, through planes of live rows and through a workspace of the filter's transform.
TEST(LongMask, ChunksOfChannels) {
  const Convolution problem = parse_convolution("fftconv_bf16_circular_l65536_b3_h3_pregate_r64x32x32_zero0x0x56");
  ExecutorOptions options = few_blocks();
  options.device.cache_bytes = 65536;
  const Inputs inputs = make_inputs(problem, {});
  expect_right(problem, inputs, execute_plan(problem, inputs, options), choose(problem, Device()));
}

// Each row's spectrum has a power of two of its own: here one row, and its mirror, is much larger than the others.
TEST(LongMask, FactorsAreThoseOfTheirRows) {
  const Convolution problem = parse_convolution("fftconv_bf16_circular_l81920_b2_h1_r320x256_zero0x310");
  if (!choose(problem, Device()).compiled) GTEST_SKIP() << "this build has not all kernels of N=81920";
  Inputs inputs = make_inputs(problem, {});
  for (std::size_t n = 0; n < inputs.k.size(); ++n)
    inputs.k[n] =
        1e-5 * inputs.k[n] + std::cos(2 * std::numbers::pi * 1917 * static_cast<double>(n) / 81920);  // row 317
  expect_right(problem, inputs, execute_plan(problem, inputs, {}), choose(problem, Device()));
}

// Devices without clusters leave out rows whatever their share.
TEST(LongMask, OtherDevicesHaveNoClusters) {
  const Convolution problem = parse_convolution("fftconv_f16_circular_l65536_b2_h1_r64x32x32_zero0x0x40");
  EXPECT_EQ(choose(problem, device_like(0), marks_of(problem)).family, "cluster");
  EXPECT_EQ(choose(problem, device_like(1), marks_of(problem)).family, "outer");
  ExecutorOptions options = few_blocks();
  options.device = device_like(1);
  EXPECT_THAT(plan_of(problem, options).description(), HasSubstr("computes 47 of 64 rows"));
}

}  // namespace
}  // namespace danaus
