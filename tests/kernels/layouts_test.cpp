// The word of what a plan prepares: plans with the same word read each other's.
#include <gtest/gtest.h>

#include <map>

#include "kernels/executor/aligned.hpp"
#include "kernels/plan/plan.hpp"
#include "kernels/plan/program.hpp"
#include "reference/token.hpp"
#include "tests/kernels/support.hpp"
#include "tests/sanitized.hpp"

namespace danaus {
namespace {

const std::vector<std::int64_t> kBatches = {1, 2, 3, 8, 64};

// What was prepared for one batch under the word of another must be as long.
void expect_words_say_sizes(const std::string& token, int& shapes) {
  std::map<std::string, std::int64_t> bytes_of;
  for (const std::int64_t batch : kBatches) {
    const std::string asked = with_number(token, "b", batch);
    try {
      const Program program = make_program(parse_case(asked), Device());
      ASSERT_FALSE(program.layout.empty()) << asked;
      EXPECT_EQ(program.layout.find(' '), std::string::npos) << asked;
      const auto [known, added] = bytes_of.emplace(program.layout, program.prepared_bytes);
      EXPECT_EQ(known->second, program.prepared_bytes) << asked << ", " << program.layout;
      ++shapes;
    } catch (const std::invalid_argument&) {  // no kernel
    }
  }
}

TEST(Layouts, AreAsLongAsTheirWordSays) {
  int shapes = 0;
  for (const char* type : {"f16", "bf16"})
    for (const char* mode : {"causal", "circular"})
      for (const std::int64_t length : unless_sanitized<std::int64_t>({100000, 4096, 50000, 131072, 200000, 40000}, 2))
        for (const std::int64_t taps : {20, 500, 2048, 8192})
          for (const int channels : {1, 16, 96})
            expect_words_say_sizes(text("fftconv_", type, '_', mode, "_l", length, "_k", taps, "_b1_h", channels),
                                   shapes);
  for (const char* token :
       {"ssmconv_f16_s16_l100000_b1_h2", "ssmconv_f16_s64_l8192_b1_h16", "ssmconv_bf16_s4_l64_b1_h3",
        "spectral_f32_b1_c16x16_l128_m32", "spectral_f32_complex_b1_c8x8_l64x64_m12x12_shared",
        "spectralgrad_f16_b1_c16x8_l64_m16", "shortconv_f16_causal_k4_l4096_b1_h16",
        "shortconvgrad_bf16_causal_k30_l4096_b1_h16_postgate"})
    expect_words_say_sizes(token, shapes);
  EXPECT_GT(shapes, 100);
}

// The words themselves, where the kernels of pieces keep more copies of a spectrum for several rows than for one.
TEST(Layouts, OfOneRowAndOfSeveralAreApartWhereCopiesAre) {
  const auto plan_of = [](const char* token) { return Plan(parse_case(token), executor_machine(few_blocks())); };
  const Plan one = plan_of("fftconv_bf16_causal_l100000_k2048_b1_h16"),
             two = plan_of("fftconv_bf16_causal_l100000_k2048_b2_h16"),
             many = plan_of("fftconv_bf16_causal_l100000_k2048_b64_h16"),
             gradients = plan_of("fftconvgrad_bf16_causal_l100000_k2048_b64_h16");
  ASSERT_EQ(one.variant().name, two.variant().name);
  ASSERT_LT(one.prepared_bytes(), two.prepared_bytes());
  EXPECT_NE(one.layout(), two.layout());
  EXPECT_EQ(two.layout(), many.layout());
  EXPECT_EQ(two.prepared_bytes(), many.prepared_bytes());
  EXPECT_EQ(two.layout(), gradients.layout()) << "which prepare the conjugate behind it";
}

// The bytes: of the same filters, under the same word.
TEST(Layouts, OfOneWordHoldTheSame) {
  for (const char* token :
       {"fftconv_f16_causal_l300_b1_h2", "fftconv_bf16_circular_l256_b1_h2", "fftconv_f16_causal_l3000_k20_b1_h1_n256",
        "fftconv_f16_circular_l768_b1_h2_r3x16x16_zero8x0x0", "fftconvgrad_f16_causal_l300_b1_h2_postgate",
        "shortconvgrad_f16_causal_k4_l64_b1_h2_postgate", "spectral_f32_b1_c4x4_l32_m8",
        "spectral_f16_complex_b1_c4x4_l16x16_m4x4_shared", "ssmconv_f16_s4_l3000_b1_h1"}) {
    std::map<std::string, std::vector<std::uint32_t>> known;
    for (const std::int64_t batch : kBatches) {
      const Case asked = parse_case(with_number(token, "b", batch));
      Plan plan(asked, executor_machine(), marks_of(asked));
      std::vector<std::vector<float>> values;
      std::vector<Buffer> filters;
      for (const Array& array : asked.arrays()) {
        if (array.role != Role::filter) continue;
        std::vector<float>& of = values.emplace_back(static_cast<std::size_t>(array.size()));
        for (std::size_t i = 0; i < of.size(); ++i) of[i] = 0.5f - static_cast<float>(i * 37 % 64) / 128;
      }
      std::size_t next = 0;
      for (const Array& array : asked.arrays())
        if (array.role == Role::filter) filters.emplace_back(array.name, std::span(values[next++]));
      const host::AlignedArray<std::uint32_t> prepared(plan.prepared_bytes() / 4);
      std::ranges::fill(prepared.all(), 0u);
      plan.prepare(filters, {.prepared = prepared.data(), .prepared_bytes = 4 * prepared.all().size()});
      const std::vector<std::uint32_t> words(prepared.all().begin(), prepared.all().end());
      const auto [first, added] = known.emplace(plan.layout(), words);
      EXPECT_EQ(first->second, words) << asked.token() << ", " << plan.layout();
    }
  }
}

}  // namespace
}  // namespace danaus
