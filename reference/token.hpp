// The grammar of tokens, the same for every operation: its word, then fields, with underscores between.
//
//   fftconv_f16_causal_l1024_b64_h768
//
// A field is a word of its own (f16, causal, pregate) or a name and what it is followed by: a number (l1024) or a list
// (r8x8x16). They may stand in any order, each once. reference/grammar.hpp declares the fields.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/basics.hpp"
#include "reference/grammar.hpp"

namespace danaus {

// The word that a token begins with.
std::string_view operation_word(std::string_view token);
// The token with another first word.
std::string with_word(std::string_view word, std::string_view token);

// The number of the field that is this name and digits alone, if there is one: 64 of "b" in ..._b64_h768. The token
// with another; throws where there is none.
std::optional<std::int64_t> number_in(std::string_view token, std::string_view name);
std::string with_number(std::string_view token, std::string_view name, std::int64_t number);

// The fields of a token, read by the grammar of its operation. Every function throws std::invalid_argument with token,
// field and rule.
class TokenFields {
 public:
  // Throws where the token begins with another operation, a field is unknown, refused or stands twice, or a required
  // one is missing. `whole`: whether any is required.
  TokenFields(std::string_view token, const Grammar& grammar, bool whole = true);

  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::optional<std::int64_t> number(std::string_view name) const;
  std::vector<int> list(std::string_view name) const;  // empty without the field
  // What follows the name.
  std::optional<std::string> rest(std::string_view name) const;
  // The value whose name() stands there, with `prefix` before it.
  template <class Enum, std::size_t count>
  std::optional<Enum> one_of(const std::array<Enum, count>& values, std::string_view name_of_field,
                             std::string_view prefix = "") const {
    const std::string* field = find(name_of_field);
    if (!field) return std::nullopt;
    for (Enum value : values)
      if (std::string_view(*field).substr(prefix.size()) == name(value)) return value;
    throw std::logic_error(text("token ", token_, ": no value has the declared word ", *field));
  }

  // A list out of the words of a field, as in 8x8x16.
  std::vector<int> read_list(std::string_view words, std::string_view field) const;
  std::int64_t read_number(std::string_view digits, std::string_view field) const;
  [[noreturn]] void fail_at(std::string_view field, std::string_view rule) const;

 private:
  // The field of this declared name; null where the token has none.
  const std::string* find(std::string_view name) const;
  [[noreturn]] void fail_unknown(std::string_view field) const;

  std::string token_;
  const Grammar& grammar_;
  std::vector<std::pair<const TokenField*, std::string>> fields_;
};

}  // namespace danaus
