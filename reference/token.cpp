#include "reference/token.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "reference/spelling.hpp"

namespace danaus {

std::string_view operation_word(std::string_view token) { return token.substr(0, token.find('_')); }

std::string with_word(std::string_view word, std::string_view token) {
  return std::string(word) + std::string(token.substr(operation_word(token).size()));
}

namespace {

// The digits of the field that is this name and digits alone; empty where there is none.
std::string_view digits_in(std::string_view token, std::string_view name) {
  for (std::size_t at = token.find('_'); at != std::string_view::npos; at = token.find('_', at + 1)) {
    const std::string_view field = token.substr(at + 1, token.find('_', at + 1) - at - 1);
    if (!field.starts_with(name) || field.size() == name.size()) continue;
    const std::string_view digits = field.substr(name.size());
    if (digits.find_first_not_of("0123456789") == std::string_view::npos) return digits;
  }
  return {};
}

}  // namespace

std::optional<std::int64_t> number_in(std::string_view token, std::string_view name) {
  const std::string_view digits = digits_in(token, name);
  if (digits.empty()) return std::nullopt;
  std::int64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

std::string with_number(std::string_view token, std::string_view name, std::int64_t number) {
  const std::string_view digits = digits_in(token, name);
  if (digits.empty()) fail("token ", token, ": field '", name, "' is missing");
  const std::size_t at = digits.data() - token.data();
  return text(token.substr(0, at), number, token.substr(at + digits.size()));
}

TokenFields::TokenFields(std::string_view token, const Grammar& grammar, bool whole)
    : token_(token), grammar_(grammar) {
  if (operation_word(token) != grammar.operation)
    fail("token '", token, "': a token of this operation begins with '", grammar.operation, "'");
  std::string_view rest = token;
  for (std::size_t end = rest.find('_'); end != std::string_view::npos;) {
    rest.remove_prefix(end + 1);
    end = rest.find('_');
    const std::string_view field = rest.substr(0, end);
    if (field.empty()) fail("token ", token, ": an empty field (two underscores, or one at the end)");
    const TokenField* declared = grammar.field_of(field);
    if (!declared) fail_unknown(field);
    if (!declared->refused.empty()) fail_at(field, declared->refused);
    if (find(declared->name)) fail("token ", token_, ": field '", declared->name, "' stands twice");
    fields_.emplace_back(declared, field);
  }
  for (const TokenField& field : grammar.fields)
    if (whole && field.required && !has(field.name))
      fail("token ", token_, ": field '", field.name, "' is missing: ", field.meaning, ", ",
           field.kind == TokenField::Kind::one_of ? field.values_in_words() : std::string(field.form));
}

const std::string* TokenFields::find(std::string_view name) const {
  for (const auto& [declared, field] : fields_)
    if (declared->name == name) return &field;
  const bool is_declared = std::ranges::find(grammar_.fields, name, &TokenField::name) != grammar_.fields.end();
  if (!is_declared) throw std::logic_error(text("token ", token_, ": no field ", name, " is declared"));
  return nullptr;
}

std::optional<std::string> TokenFields::rest(std::string_view name) const {
  const std::string* field = find(name);
  return field ? std::optional(field->substr(name.size())) : std::nullopt;
}

std::optional<std::int64_t> TokenFields::number(std::string_view name) const {
  const std::string* field = find(name);
  if (!field) return std::nullopt;
  return read_number(std::string_view(*field).substr(name.size()), *field);
}

std::vector<int> TokenFields::list(std::string_view name) const {
  const std::string* field = find(name);
  return field ? read_list(std::string_view(*field).substr(name.size()), *field) : std::vector<int>();
}

std::vector<int> TokenFields::read_list(std::string_view words, std::string_view field) const {
  std::vector<int> list;
  while (true) {
    const std::size_t cross = words.find('x');
    const std::int64_t value = read_number(words.substr(0, cross), field);
    if (value > std::numeric_limits<int>::max())
      fail("token ", token_, ": field '", field, "' has ", value, ", too large");
    list.push_back(static_cast<int>(value));
    if (cross == std::string_view::npos) return list;
    words.remove_prefix(cross + 1);
  }
}

void TokenFields::fail_at(std::string_view field, std::string_view rule) const {
  fail("token ", token_, ": field '", field, "' ", rule);
}

void TokenFields::fail_unknown(std::string_view field) const {
  std::vector<std::string> known;
  const std::size_t letters = std::min(field.find_first_of("0123456789"), field.size());
  const TokenField* without_number = nullptr;
  for (const TokenField& each : grammar_.fields) {
    if (!each.refused.empty()) continue;
    const std::vector<std::string> words = each.words();
    known.insert(known.end(), words.begin(), words.end());
    if (!words.empty()) continue;
    if (each.name.size() > 1) known.push_back(text(each.name, field.substr(letters)));
    if (field.starts_with(each.name)) without_number = &each;
  }
  std::string nearest = closest(field, known);
  if (nearest.empty() && without_number) {
    const std::string_view digits = field.substr(letters);
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos)
      read_number(field.substr(without_number->name.size()), field);
    nearest = text(without_number->name, digits);  // batch64
  }
  fail("token ", token_, ": unknown field '", field, "'",
       nearest.empty() ? "" : text(" (did you mean '", nearest, "'?)"), "; fields are ", grammar_.names());
}

std::int64_t TokenFields::read_number(std::string_view digits, std::string_view field) const {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range)
    fail("token ", token_, ": field '", field, "' has the number ", digits, ", must be less than 2^63");
  if (error != std::errc() || end != digits.data() + digits.size() || value < 0)
    fail("token ", token_, ": field '", field, "' needs a whole number where it has '", digits, "'");
  return value;
}

}  // namespace danaus
