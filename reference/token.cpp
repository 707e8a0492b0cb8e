#include "reference/token.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace danaus {

std::string_view operation_word(std::string_view token) { return token.substr(0, token.find('_')); }

std::string with_word(std::string_view word, std::string_view token) {
  return std::string(word) + std::string(token.substr(operation_word(token).size()));
}

namespace {

// Of the digits of the field that is this name and digits alone; empty where there is none.
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

TokenFields::TokenFields(std::string_view token) : token_(token) {
  std::string_view rest = token;
  for (std::size_t end = rest.find('_'); end != std::string_view::npos;) {
    rest.remove_prefix(end + 1);
    end = rest.find('_');
    const std::string_view field = rest.substr(0, end);
    if (field.empty()) fail("token ", token, ": an empty field (two underscores, or one at the end)");
    fields_.emplace_back(field);
  }
}

bool TokenFields::take_word(std::string_view word) {
  const auto count = std::erase_if(fields_, [=](const std::string& field) { return field == word; });
  if (count > 1) fail_twice(word);
  return count == 1;
}

std::optional<std::string> TokenFields::take(std::string_view name) {
  std::optional<std::string> found;
  std::erase_if(fields_, [&](const std::string& field) {
    if (!field.starts_with(name)) return false;
    if (found) fail_twice(name);
    found = field.substr(name.size());
    return true;
  });
  return found;
}

std::optional<std::int64_t> TokenFields::take_number(std::string_view name) {
  const auto digits = take(name);
  if (!digits) return std::nullopt;
  return read_number(*digits, std::string(name) + *digits);
}

std::vector<int> TokenFields::take_list(std::string_view name) {
  const auto words = take(name);
  return words ? read_list(*words, std::string(name) + *words) : std::vector<int>();
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

void TokenFields::finish(std::string_view fields) const {
  if (!fields_.empty()) fail("token ", token_, ": unknown field '", fields_.front(), "'; fields are ", fields);
}

void TokenFields::fail_at(std::string_view field, std::string_view rule) const {
  fail("token ", token_, ": field '", field, "' ", rule);
}

void TokenFields::fail_twice(std::string_view what) const {
  fail("token ", token_, ": field '", what, "' stands twice");
}

std::int64_t TokenFields::read_number(std::string_view digits, std::string_view field) const {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value < 0)
    fail("token ", token_, ": field '", field, "' needs a whole number where it has '", digits, "'");
  return value;
}

}  // namespace danaus
