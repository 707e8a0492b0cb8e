#include "experiments/io/asked_fields.hpp"

#include <algorithm>
#include <charconv>

namespace danaus {
namespace {

std::int64_t number_of(std::string_view digits) {
  std::int64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

template <class Take>
void for_each_part(std::string_view words, char separator, const Take& take) {
  for (std::size_t end = 0; end != words.npos; words.remove_prefix(std::min(words.size(), end + 1))) {
    end = words.find(separator);
    take(words.substr(0, end));
  }
}

Json value_of(const TokenField& field, std::string_view word) {
  const std::string_view rest = word.substr(std::min(word.size(), field.name.size()));
  switch (field.kind) {
    case TokenField::Kind::word: return true;
    case TokenField::Kind::one_of: return word;
    case TokenField::Kind::number: return number_of(rest);
    case TokenField::Kind::other: return rest;
    case TokenField::Kind::list: break;
  }
  Json numbers = Json::array();
  for_each_part(rest, 'x', [&](std::string_view digits) { numbers.push_back(number_of(digits)); });
  return numbers;
}

}  // namespace

Json asked_fields(std::string_view token) {
  Json asked = {{"operation", token.substr(0, token.find('_'))}};
  const Grammar& grammar = *find_grammar(asked["operation"].get<std::string>());
  if (token == grammar.operation) return asked;
  for_each_part(token.substr(grammar.operation.size() + 1), '_', [&](std::string_view word) {
    const TokenField& field = *grammar.field_of(word);
    asked[name_in_rows(field)] = value_of(field, word);
  });
  return asked;
}

std::string name_in_rows(const TokenField& field) {
  std::string name(field.name);
  std::ranges::replace(name, ' ', '_');
  return name;
}

std::string_view kind_in_rows(const TokenField& field) {
  switch (field.kind) {
    case TokenField::Kind::word: return "word";
    case TokenField::Kind::one_of: return "one_of";
    case TokenField::Kind::number: return "number";
    case TokenField::Kind::list: return "list";
    case TokenField::Kind::other: return "other";
  }
  throw std::logic_error("a field of no kind");
}

}  // namespace danaus
