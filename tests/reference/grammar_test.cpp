// Declarations of fields: each is what the parser takes, and no other is.
#include "reference/grammar.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "reference/operation.hpp"
#include "reference/spelling.hpp"
#include "tests/reference/refused.hpp"

namespace danaus {
namespace {

std::vector<std::string> fields_of(std::string_view token) {
  std::vector<std::string> fields;
  for (std::size_t end = token.find('_'); end != token.npos;) {
    token.remove_prefix(end + 1);
    end = token.find('_');
    fields.emplace_back(token.substr(0, end));
  }
  return fields;
}

// The operation's example with these fields in place of its own of the same name.
std::string example_with(const Grammar& grammar, std::string_view added) {
  const std::vector<std::string> own = fields_of(grammar.example), more = fields_of(text('_', added));
  std::string token(grammar.operation);
  for (const std::string& field : own) {
    const auto replaces = [&](const std::string& other) { return grammar.field_of(other) == grammar.field_of(field); };
    if (std::ranges::none_of(more, replaces)) token += '_' + field;
  }
  return text(token, '_', added);
}

TEST(Grammars, DescribeEachOperationOnce) {
  ASSERT_EQ(grammars().size(), operations().size());
  for (const Operation& operation : operations()) {
    const Grammar* grammar = find_grammar(operation.word);
    ASSERT_NE(grammar, nullptr) << operation.word;
    EXPECT_EQ(parse_case(grammar->example).token(), grammar->example) << "an example is as token() prints it";
    EXPECT_TRUE(grammar->usage().starts_with(text(operation.word, "_<dtype>"))) << grammar->usage();
  }
  EXPECT_EQ(find_grammar("conv"), nullptr);
}

TEST(Grammars, ExamplesOfFieldsAreTokens) {
  for (const Grammar& grammar : grammars())
    for (const TokenField& field : grammar.fields) {
      if (!field.refused.empty()) continue;
      EXPECT_FALSE(field.meaning.empty()) << field.name;
      const std::string token = example_with(grammar, field.example);
      const std::vector<std::string> fields = fields_of(parse_case(token).token());
      EXPECT_TRUE(std::ranges::any_of(fields, [&](const auto& each) { return grammar.field_of(each) == &field; }))
          << token << " lacks " << field.name;
    }
}

TEST(Grammars, ValuesAreThoseThatAParserTakes) {
  for (const Grammar& grammar : grammars())
    for (const TokenField& field : grammar.fields) {
      if (!field.refused.empty()) continue;
      if (field.kind == TokenField::Kind::one_of)
        for (const std::string& word : field.words()) {
          const std::string message = refused(example_with(grammar, word));
          // A word may need others, as half an N; it is known all the same.
          EXPECT_EQ(message.find("unknown field"), message.npos) << message;
        }
      if (field.kind != TokenField::Kind::number) continue;
      const auto with = [&](std::int64_t number) { return example_with(grammar, text(field.name, number)); };
      EXPECT_NE(refused(with(field.least - 1)), "none") << with(field.least - 1);
      if (field.most == 0) continue;
      EXPECT_EQ(refused(with(field.most)), "none");
      EXPECT_NE(refused(with(field.most + 1)), "none") << with(field.most + 1);
    }
}

TEST(Grammars, RequiredFieldsAreThoseWhoseLackIsRefused) {
  for (const Grammar& grammar : grammars())
    for (const std::string& left_out : fields_of(grammar.example)) {
      std::string token(grammar.operation);
      for (const std::string& field : fields_of(grammar.example))
        if (field != left_out) token += '_' + field;
      const TokenField& field = *grammar.field_of(left_out);
      EXPECT_TRUE(field.required) << left_out;
      EXPECT_NE(refused(token).find(text("field '", field.name, "' is missing: ", field.meaning)), std::string::npos)
          << refused(token);
    }
}

TEST(Grammars, AMisspeltFieldIsToldTheNearest) {
  const struct {
    const char *token, *message;
  } kWrong[] = {
      {"fftconv_f16_casual_l4_b1_h1", "unknown field 'casual' (did you mean 'causal'?); fields are f16|bf16|f32|f64, "},
      {"fftconv_fp16_causal_l4_b1_h1", "unknown field 'fp16' (did you mean 'f16'?)"},
      {"fftconv_f16_causal_l4_b1_h1_kf61", "did you mean 'kf16'?"},
      {"fftconv_f16_causal_l4_batch64_h1", "unknown field 'batch64' (did you mean 'b64'?)"},
      {"fftconv_f16_circular_l16_b1_h1_keap0to4", "did you mean 'keep0to4'?"},
      {"shortconv_f16_causal_k4_l8_b1_h1_channellast", "did you mean 'channelslast'?"},
      {"ffconv_f16_causal_l4_b1_h1", "did you mean 'fftconv'?"},
  };
  for (const auto& [token, message] : kWrong)
    EXPECT_NE(refused(token).find(message), std::string::npos) << refused(token);
  EXPECT_EQ(refused("fftconv_f16_causal_l4_b1_h1_q").find("did you mean"), std::string::npos);
}

TEST(Spelling, FindsTheNearestWordOrNone) {
  const std::vector<std::string> known = {"verify", "random", "bench"};
  EXPECT_EQ(closest("verfiy", known), "verify");  // swapped letters are one slip
  EXPECT_EQ(closest("BENCH", known), "bench");
  EXPECT_EQ(closest("prove", known), "");
  EXPECT_EQ(closest("", known), "");
  EXPECT_EQ(closest(std::string(10000, 'x'), known), "");
  EXPECT_EQ(did_you_mean("bench2", known), "; did you mean 'bench'?");
}

}  // namespace
}  // namespace danaus
