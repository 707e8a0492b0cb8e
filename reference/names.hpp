// Words for the values of an enumeration: one table for printing, reading, help and lists.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "reference/basics.hpp"
#include "reference/spelling.hpp"

namespace danaus {

template <class Value>
struct Named {
  Value value;
  std::string_view name;
  std::string_view summary;
};

template <class Value, std::size_t count>
std::string_view name_in(const std::array<Named<Value>, count>& table, Value value) {
  for (const Named<Value>& entry : table)
    if (entry.value == value) return entry.name;
  fail("value ", int(value), " has no name");
}

// "a, b, c"
template <class Value, std::size_t count>
std::string names_in(const std::array<Named<Value>, count>& table) {
  std::string names;
  for (const Named<Value>& entry : table) names.append(names.empty() ? "" : ", ").append(entry.name);
  return names;
}

// Throws std::invalid_argument and lists the names; `what` begins the message.
template <class Value, std::size_t count>
Value parse_in(const std::array<Named<Value>, count>& table, std::string_view what, std::string_view word) {
  std::vector<std::string> names;
  for (const Named<Value>& entry : table) {
    if (entry.name == word) return entry.value;
    names.emplace_back(entry.name);
  }
  fail(must_be_one_of(what, word, names));
}

}  // namespace danaus
