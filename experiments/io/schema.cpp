#include "experiments/io/schema.hpp"

#include <algorithm>
#include <map>

#include "reference/basics.hpp"

namespace danaus {
namespace {

struct EmbeddedSchema {
  std::string_view kind;
  std::string_view text;
};

constexpr EmbeddedSchema kEmbedded[] = {
#include "embedded_schemas.inc"
};

const std::map<std::string, Json>& schemas() {
  static const std::map<std::string, Json> kSchemas = [] {
    std::map<std::string, Json> parsed;
    for (const EmbeddedSchema& schema : kEmbedded) parsed[std::string(schema.kind)] = Json::parse(schema.text);
    return parsed;
  }();
  return kSchemas;
}

bool has_type(const Json& value, const std::string& type) {
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "null") return value.is_null();
  fail("schema: type '", type, "' is unknown");
}

// "a, b or c"; of texts in quotes.
std::string alternatives(const Json& list) {
  std::string words;
  for (std::size_t i = 0; i < list.size(); ++i)
    words += (i == 0 ? "" : i + 1 == list.size() ? " or " : ", ") + list[i].dump();
  return words;
}

// Too long a value says nothing that its beginning does not.
std::string shown(const Json& value) {
  constexpr std::size_t kLongest = 60;
  const std::string text = value.dump();
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

struct Violation {
  std::string words;
  bool of_const = false;  // which tells the alternatives of an anyOf apart
};

class Validator {
 public:
  explicit Validator(const Json& root) : root_(root) {}

  std::optional<Violation> violation(const Json& value, const Json& schema, const std::string& place) const {
    for (const auto& [keyword, rule] : schema.items())
      if (auto found = of_keyword(keyword, rule, value, schema, place)) return found;
    return std::nullopt;
  }

 private:
  using Found = std::optional<Violation>;

  Found of_keyword(const std::string& keyword, const Json& rule, const Json& value, const Json& schema,
                   const std::string& place) const {
    const auto must_be = [&](const std::string& what) {
      return Violation{place + " is " + shown(value) + ", must be " + what, keyword == "const"};
    };
    if (keyword == "type") {
      const Json types = rule.is_array() ? rule : Json::array({rule});
      const auto has = [&](const Json& type) { return has_type(value, type); };
      if (std::none_of(types.begin(), types.end(), has)) return must_be(alternatives(types));
    } else if (keyword == "const") {
      if (value != rule) return must_be(rule.dump());
    } else if (keyword == "enum") {
      if (std::find(rule.begin(), rule.end(), value) == rule.end()) return must_be(alternatives(rule));
    } else if (keyword == "minimum") {
      if (value.is_number() && value.get<double>() < rule.get<double>()) return must_be("at least " + rule.dump());
    } else if (keyword == "minItems") {
      if (value.is_array() && value.size() < rule.get<std::size_t>())
        return must_be("a list of at least " + rule.dump());
    } else if (keyword == "required") {
      if (!value.is_object()) return std::nullopt;
      for (const Json& name : rule)
        if (!value.contains(name.get<std::string>())) return Violation{inside(place, name) + " is missing"};
    } else if (keyword == "properties") {
      return of_properties(rule, value, place);
    } else if (keyword == "additionalProperties") {
      return of_other_properties(rule, value, schema, place);
    } else if (keyword == "items") {
      if (!value.is_array()) return std::nullopt;
      for (std::size_t i = 0; i < value.size(); ++i)
        if (auto found = violation(value[i], rule, place + '[' + std::to_string(i) + ']')) return found;
    } else if (keyword == "anyOf") {
      Found meant;
      for (const Json& choice : rule) {
        const Found found = violation(value, choice, place);
        if (!found) return std::nullopt;
        if (!meant || meant->of_const) meant = found;
      }
      return meant;
    } else if (keyword == "$ref") {
      return violation(value, root_.at(Json::json_pointer(rule.get<std::string>().substr(1))), place);
    } else if (keyword != "title" && keyword != "description" && keyword != "$schema" && keyword != "$defs") {
      fail("schema: keyword '", keyword, "' is unknown");
    }
    return std::nullopt;
  }

  Found of_properties(const Json& rules, const Json& value, const std::string& place) const {
    if (!value.is_object()) return std::nullopt;
    for (const auto& [name, rule] : rules.items())
      if (value.contains(name))
        if (auto found = violation(value[name], rule, inside(place, name))) return found;
    return std::nullopt;
  }

  Found of_other_properties(const Json& rule, const Json& value, const Json& schema, const std::string& place) const {
    if (!value.is_object()) return std::nullopt;
    for (const auto& [name, other] : value.items()) {
      if (schema.contains("properties") && schema["properties"].contains(name)) continue;
      if (rule.is_boolean() && !rule.get<bool>()) return Violation{inside(place, name) + " is no field of this kind"};
      if (rule.is_object())
        if (auto found = violation(other, rule, inside(place, name))) return found;
    }
    return std::nullopt;
  }

  static std::string inside(const std::string& place, const std::string& name) {
    return place.empty() ? name : place + '.' + name;
  }

  const Json& root_;
};

}  // namespace

std::vector<std::string> row_kinds() {
  std::vector<std::string> kinds;
  for (const auto& [kind, schema] : schemas()) kinds.push_back(kind);
  return kinds;
}

std::optional<std::string> violation(const std::string& kind, const Json& row) {
  const auto found = schemas().find(kind);
  if (found == schemas().end()) fail("schema: kind '", kind, "' has none");
  const auto first = Validator(found->second).violation(row, found->second, "");
  return first ? std::optional(first->words) : std::nullopt;
}

}  // namespace danaus
