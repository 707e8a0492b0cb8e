// The grammar of tokens, the same for every operation: its word, then fields, with underscores between.
//
//   fftconv_f16_causal_l1024_b64_h768
//
// A field is a word of its own (f16, causal, pregate) or a name and what it is followed by: a number (l1024) or a list
// (r8x8x16). They may stand in any order, each once.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/basics.hpp"

namespace danaus {

// The word that a token begins with.
std::string_view operation_word(std::string_view token);
// The token with another first word.
std::string with_word(std::string_view word, std::string_view token);

// The number of the field that is this name and digits alone, if there is one: 64 of "b" in ..._b64_h768. The token
// with another; throws where there is none.
std::optional<std::int64_t> number_in(std::string_view token, std::string_view name);
std::string with_number(std::string_view token, std::string_view name, std::int64_t number);

// The fields of a token, taken out one by one; what an operation does not take is an error. Words of their own come
// first: "half" is not the number of an h. Every function throws std::invalid_argument with token, field and rule.
class TokenFields {
 public:
  explicit TokenFields(std::string_view token);

  // Whether this word is there.
  bool take_word(std::string_view word);

  // Which of the values is there by its name(), if any; `what` they are.
  template <class Enum, std::size_t count>
  std::optional<Enum> take_one_of(const std::array<Enum, count>& values, std::string_view what) {
    std::optional<Enum> found;
    for (Enum value : values)
      if (take_word(name(value))) {
        if (found) fail_twice(what);
        found = value;
      }
    return found;
  }

  // What follows this name, if a field begins with it.
  std::optional<std::string> take(std::string_view name);
  std::optional<std::int64_t> take_number(std::string_view name);
  std::vector<int> take_list(std::string_view name);  // empty without the field
  // A list out of the words of a field, as in 8x8x16.
  std::vector<int> read_list(std::string_view words, std::string_view field) const;
  std::int64_t read_number(std::string_view digits, std::string_view field) const;
  [[noreturn]] void fail_at(std::string_view field, std::string_view rule) const;

  template <class Value>
  Value required(std::optional<Value> value, std::string_view what) const {
    if (!value) fail("token ", token_, ": field '", what, "' is missing");
    return *value;
  }

  // Throws where a field is left, and says which ones there are.
  void finish(std::string_view fields) const;

 private:
  [[noreturn]] void fail_twice(std::string_view what) const;

  std::string token_;
  std::vector<std::string> fields_;
};

}  // namespace danaus
