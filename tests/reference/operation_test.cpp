// Cases of every operation that there is.
#include "reference/operation.hpp"

#include <gtest/gtest.h>

#include "reference/compare.hpp"
#include "reference/convolution/convolve.hpp"
#include "reference/truth.hpp"
#include "reference/within_limits.hpp"

namespace danaus {
namespace {

TEST(Operations, AreFoundByTheFirstWordOfAToken) {
  const Case asked = parse_case("fftconv_f16_causal_l24_b2_h3_postgate");
  EXPECT_EQ(asked.token(), "fftconv_f16_causal_l24_b2_h3_postgate");
  ASSERT_TRUE(asked.as<Convolution>());
  EXPECT_EQ(asked.as<Convolution>()->length, 24);
  EXPECT_FALSE(asked.as<int>());
  try {
    parse_case("fft_f16");
    FAIL() << "an operation that there is not";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("begins with its operation, one of fftconv"), std::string::npos);
  }
}

TEST(Operations, TokensWithControlCharactersAreRefusedInOneLine) {
  for (const std::string token : {"fftconv_f16_causal_l24_b2_h3\n", "fftconv\r_f16", "\x1b[2J", "fft\x7f"}) {
    try {
      parse_case(token);
      FAIL() << token;
    } catch (const std::invalid_argument& error) {
      const std::string_view words = error.what();
      EXPECT_NE(words.find("is followed by the control character "), std::string_view::npos) << words;
      EXPECT_EQ(words.find_first_of("\n\r\x1b\x7f"), std::string_view::npos) << words;
    }
  }
}

struct Declared {
  std::size_t count, rank;
};
std::string token(const Declared&) { return "declared"; }
std::vector<Array> arrays(const Declared& asked) {
  const std::vector<std::int64_t> extents(asked.rank, 2);
  return std::vector<Array>(asked.count, {"u", Role::input, Dtype::f32, extents, true, "B*..."});
}
double useful_flops(const Declared&) { return 0; }

TEST(Limits, AnOperationThatDeclaresMoreIsRefused) {
  EXPECT_NO_THROW(within_limits(Declared{kMaxArrays, kMaxRank}));
  EXPECT_THROW(within_limits(Declared{kMaxArrays + 1, 1}), std::logic_error);
  EXPECT_THROW(within_limits(Declared{1, kMaxRank + 1}), std::logic_error);
}

TEST(Operations, SayWhichArraysTheyReadAndWrite) {
  const Case asked = parse_case("fftconv_bf16_circular_l24_k5_b2_h3_pregate");
  const Values values = make_values(asked), results = truth(asked, values);
  for (const Array& array : asked.arrays()) {
    SCOPED_TRACE(array.name);
    const Values& found = array.role == Role::output ? results : values;
    ASSERT_TRUE(found.contains(array.name));
    EXPECT_EQ(std::ssize(found.find(array.name)->second), array.size());
    EXPECT_EQ(array.batched, array.extents.front() == 2);
  }
  EXPECT_EQ(values.size() + results.size(), asked.arrays().size());
  EXPECT_NE(values, make_values(asked, 1)) << "another seed";
}

TEST(Operations, GiveTheTruthOfTheirReference) {
  const Case asked = parse_case("fftconv_f64_causal_l24_k5_b2_h3_pregate_postgate");
  const Values values = make_values(asked);
  const Inputs inputs = {values.at("u"), values.at("k"), values.at("pregate"), values.at("postgate")};
  const std::vector<double> direct = convolve(*asked.as<Convolution>(), inputs, Algorithm::direct);
  EXPECT_LT(compare(direct, truth(asked, values).at("y")).rel_l2, 1e-14);
}

}  // namespace
}  // namespace danaus
