// Kernels that leave out what a mask removes.
#include <gmock/gmock.h>

#include "kernels/cpu/work.hpp"
#include "tests/kernels/sparse_support.hpp"

namespace danaus {
namespace {

using testing::HasSubstr;

const Variant& dense_of(const Convolution& problem) { return choose(problem, Device()); }
SparseChoice sparse_of(const Convolution& problem) {
  return choose_sparse(dense_of(problem), Device(), kept_frequencies(problem));
}
Convolution without_mask(Convolution problem) {
  problem = planned(problem, dense_of(problem));
  problem.mask = {};
  return problem;
}

class SparseKernels : public testing::TestWithParam<Masked> {
 protected:
  void SetUp() override {
    if (!has_kernel(problem_, Device())) GTEST_SKIP() << "this build has no kernel of N=" << dense_of(problem_).size;
  }
  const Convolution problem_ = GetParam().problem();
};

TEST_P(SparseKernels, GiveTheMaskedConvolution) {
  const SparseChoice choice = sparse_of(problem_);
  ASSERT_TRUE(choice.part);
  ASSERT_EQ(choice.variant != nullptr, GetParam().skips) << choice.part->words();
  ExecutorOptions options = few_blocks();
  options.blocks = 1;
  int launches = 0;
  options.observer = [&](const Launch& launch, const host::Counters&) {
    const Variant& v = GetParam().skips ? *choice.variant : dense_of(problem_);
    launches += launch.kernel == KernelId{v.family, v.line, v.instance};
  };
  const Inputs inputs = make_inputs(problem_, {});
  options.order = problem_.length > 4096 ? host::Order::ascending : host::Order::random;
  expect_right(problem_, inputs, execute_plan(problem_, inputs, options), dense_of(problem_));
  EXPECT_EQ(launches, 1);
}

// Steps A and B have as many products, of which step B's fall with its blocks, and what a channel's spectrum takes with
// its live pieces; of nothing there is more than in the dense kernel, but for the marks, a sector for each vector of
// the spectrum, and where packed pieces are, a wavefront for each.
TEST_P(SparseKernels, DoLessInProportionToWhatIsDead) {
  const SparseChoice choice = sparse_of(problem_);
  if (!choice.variant) return;
  const LivePart& part = *choice.part;
  std::int64_t spectrum_bytes = 0;
  ExecutorOptions options = few_blocks();
  options.observer = [&](const Launch& launch, const host::Counters&) {
    for (const Region& region : launch.regions)
      if (region.name && std::string_view(region.name) == "spectrum") spectrum_bytes = region.bytes;
  };
  execute_plan(problem_, make_inputs(problem_, {}), options);
  EXPECT_EQ(spectrum_bytes, 16 * part.pieces * problem_.channels);

  const Work sparse = count_launch(problem_, Device()), dense = count_launch(without_mask(problem_), Device());
  const double dead = 1 - double(part.blocks) / double(part.blocks_of_all);
  // Step B has as many products as step A, or of a half spectrum so many fewer.
  const double lines = double(choice.variant->spectrum_numbers()) / choice.variant->size;
  const double of_blocks = choice.variant->family == "chain" ? 1 : lines / (1 + lines);
  // To judge an item takes one product of depth 16 and one of depth 8, or of a row alone two of depth 8.
  const bool pair = choice.variant->fold == Fold::pair;
  const auto products = [&](const Work& work) {
    return double(work.item.mma_f16acc - (pair ? work.item.mma_depth8 : 0));
  };
  const double left = products(sparse) / products(dense);
  EXPECT_DOUBLE_EQ(left, 1 - of_blocks * dead);
  const auto vectors = std::uint64_t(part.pieces_of_all / 32);
  for (auto field : {&host::Counters::packed_operations, &host::Counters::byte_permutes})
    EXPECT_LE(sparse.item.*field, dense.item.*field);
  // Where the dense kernel reads its spectrum from L2, four wavefronts more are for the pieces themselves.
  const std::uint64_t more = vectors * (dense.item.global_load_sectors > 0 ? 5 : 1);
  for (auto field : {&host::Counters::shared_instructions, &host::Counters::shared_wavefronts})
    EXPECT_LE(sparse.item.*field, dense.item.*field + more);
  if (dead > 0) {
    EXPECT_LT(sparse.item.shared_wavefronts, dense.item.shared_wavefronts + more);
  }
  const auto loaded = [](const Work& work) { return work.item.global_load_sectors + work.visit.global_load_sectors; };
  EXPECT_LE(loaded(sparse), loaded(dense) - std::uint64_t(part.pieces_of_all - part.pieces) / 2 + 3 * vectors);
}

INSTANTIATE_TEST_SUITE_P(Masks, SparseKernels, testing::ValuesIn(kMasked));

TEST(Sparse, PlansSayWhatTheyCompute) {
  const auto description = [](const char* token) {
    const Convolution problem = parse_convolution(token);
    return Plan(problem, executor_machine(few_blocks()), marks_of(problem)).description();
  };
  EXPECT_THAT(description("fftconv_f16_circular_l512_b2_h1_r2x16x16_blocks1x1x2h8"),
              HasSubstr("computes 1 of 2 blocks and 50 % of the spectrum, on executor"));
  EXPECT_THAT(description("fftconv_f16_circular_l512_b2_h1_r2x16x16_keep0to254"),
              HasSubstr("computes all: the mask leaves 2 of 2 blocks and 100 % of the spectrum"));
  EXPECT_THAT(description("fftconv_f16_circular_l512_b2_h1_pregate_r2x16x16_blocks1x1x2h8"),
              HasSubstr("computes all: no kernel of this kind leaves out what a mask removes"));
}

}  // namespace
}  // namespace danaus
