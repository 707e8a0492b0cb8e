// Gated convolutions by their kernels, through a plan on the executor, against the truth in double.
#include "reference/gated/gated.hpp"

#include "kernels/plan/registry.hpp"
#include "reference/half.hpp"
#include "tests/kernels/fields.hpp"
#include "tests/kernels/support.hpp"

namespace danaus {
namespace {

// Every output within its bounds, and nothing written beside them. What computes it.
std::string expect_right(const Case& asked, const Values& values, int offset = 0) {
  SCOPED_TRACE(text(asked.token(), ", offset ", offset));
  Plan plan(asked, executor_machine());
  auto fields = fields_of(asked, values, offset, offset);
  std::vector<Buffer> buffers;
  for (auto& [name, field] : fields) buffers.emplace_back(name, std::span(field.samples()));
  plan.whole_call(buffers);
  for (auto& [name, field] : fields) EXPECT_TRUE(field.guards_are_whole()) << name;
  expect_right(asked, values, outputs_of(asked, fields), promise_of(asked, plan.variant(), Device()));
  return std::string(plan.variant().family);
}
std::string expect_right(const std::string& token, int offset = 0) {
  const Case asked = parse_case(token);
  return expect_right(asked, make_values(asked), offset);
}

class FilteredKernels : public testing::TestWithParam<const Variant*> {
 protected:
  std::string token(std::int64_t length, std::string_view fields) const {
    const Variant& v = *GetParam();
    return text("gatedconv_", name(v.dtype), v.fold == Fold::pair ? "_circular" : "_causal", "_l", length, fields);
  }
};

// Whole rows and an odd batch; then rows that end within a block, where a bias would go on, beside 16 bytes too.
TEST_P(FilteredKernels, AreWithinTheirBounds) {
  const Variant& v = *GetParam();
  EXPECT_EQ(expect_right(token(v.size, "_b3_h2_pregate_postgate_taps3_bias")), v.family);
  if (v.fold == Fold::pair) return;
  EXPECT_EQ(expect_right(token(v.size - 8, "_b2_h1_postgate_taps8_bias_skip")), v.family);
  EXPECT_EQ(expect_right(token(v.size - 13, "_b1_h2_pregate_taps2_bias"), 1), v.family);
}

// A row is filtered and convolved as if the others were not there: in the second walk too.
TEST_P(FilteredKernels, KeepRowsApart) {
  const Variant& v = *GetParam();
  const Case asked = parse_case(token(v.size, "_b4_h1_pregate_postgate_taps4"));
  Values values = make_values(asked);
  const double scales[] = {1, 1e-3, 0, v.dtype == Dtype::f16 ? 200. : 1e6};
  for (std::int64_t i = 0; i < 4 * v.size; ++i) values["u"][i] = round_to(v.dtype, values["u"][i] * scales[i / v.size]);
  EXPECT_EQ(expect_right(asked, values), v.family);
}

std::vector<const Variant*> compiled_variants() {
  std::vector<const Variant*> list;
  for (const auto& v : filtered_variants())
    if (v->compiled && v->preferred && v->suits(0)) list.push_back(v.get());
  return list;
}
INSTANTIATE_TEST_SUITE_P(Of, FilteredKernels, testing::ValuesIn(compiled_variants()),
                         [](const auto& info) { return info.param->name; });

// What one launch has no kernel for, takes several.
TEST(GatedConvolutions, OfAnyLengthAreWithinTheirBounds) {
  for (const char* shape : {"causal_l30000_b2_h1_pregate_postgate_taps3_bias_skip", "causal_l1_b1_h1_taps8_bias",
                            "circular_l100_k300_b3_h2_postgate_taps5", "causal_l70001_b1_h1_pregate_taps2",
                            "causal_l300_b2_h3_pregate_postgate_skip"})
    for (const char* type : {"f16", "bf16"})
      for (int offset : {0, 3}) expect_right(text("gatedconv_", type, '_', shape), offset);
}

}  // namespace
}  // namespace danaus
