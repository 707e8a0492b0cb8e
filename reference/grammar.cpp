#include "reference/grammar.hpp"

#include <algorithm>

#include "reference/basics.hpp"
#include "reference/spelling.hpp"

namespace danaus {

std::vector<std::string> TokenField::words() const {
  if (kind == Kind::word) return {std::string(name)};
  std::vector<std::string> list;
  if (kind != Kind::one_of) return list;
  for (std::string_view rest = values; !rest.empty();) {
    const std::size_t end = std::min(rest.find('|'), rest.size());
    list.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return list;
}

std::string TokenField::values_in_words() const {
  if (kind == Kind::word) return "";
  if (kind == Kind::one_of) return listed(words());
  if (kind != Kind::number) return std::string(values);
  return most > 0 ? text(least, " to ", most) : text(least, " and more");
}

std::string Grammar::usage() const {
  std::string line(operation);
  for (const TokenField& field : fields) {
    if (!field.refused.empty()) continue;
    line += field.required ? text('_', field.form) : text("[_", field.form, ']');
  }
  return line;
}

const TokenField* Grammar::field_of(std::string_view field) const {
  const TokenField* nearest = nullptr;
  for (const TokenField& each : fields) {
    const std::vector<std::string> words = each.words();
    if (std::ranges::find(words, field) != words.end()) return &each;  // "half" is not the number of an h
    if (!words.empty() || field.size() <= each.name.size() || !field.starts_with(each.name)) continue;
    const char next = field[each.name.size()];
    if (each.kind != TokenField::Kind::other && (next < '0' || next > '9')) continue;
    if (!nearest || each.name.size() > nearest->name.size()) nearest = &each;
  }
  return nearest;
}

std::string Grammar::names() const {
  std::string list;
  for (const TokenField& field : fields)
    if (field.refused.empty())
      list.append(list.empty() ? "" : ", ").append(field.kind == TokenField::Kind::one_of ? field.values : field.name);
  return list;
}

const Grammar* find_grammar(std::string_view operation) {
  const auto grammar = std::ranges::find(grammars(), operation, &Grammar::operation);
  return grammar == grammars().end() ? nullptr : &*grammar;
}

}  // namespace danaus
