// The cases and doors of cases.json, which the tests in Python read too.
#pragma once

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <regex>
#include <string>
#include <vector>

#include "reference/basics.hpp"
#include "tests/sanitized.hpp"

namespace danaus::conformance {

struct ConformanceCase {
  std::string token;
  std::string refused;  // words of a plan's refusal, where no kernel computes the case; else empty
};

inline void PrintTo(const ConformanceCase& asked, std::ostream* out) { *out << asked.token; }

inline const nlohmann::json& declarations() {
  static const nlohmann::json kRead = [] {
    std::ifstream file(DANAUS_CONFORMANCE "/cases.json");
    return nlohmann::json::parse(file);
  }();
  return kRead;
}

// Without those of long rows under the sanitizers, where they take minutes.
inline std::vector<ConformanceCase> cases() {
  std::vector<ConformanceCase> list;
  for (const auto& [operation, of] : declarations().at("cases").items())
    for (const auto& each : of)
      list.push_back(each.is_string() ? ConformanceCase{each, {}}
                                      : ConformanceCase{each.at("case"), each.at("refused")});
  if (kSanitized)
    std::erase_if(list, [](const ConformanceCase& each) { return each.token.find("_l65536") != std::string::npos; });
  return list;
}

// Those that a door takes, by what is declared.
inline std::vector<ConformanceCase> cases_of(const std::string& door) {
  const nlohmann::json& declared = declarations().at("doors").at(door);
  std::vector<ConformanceCase> taken = cases();
  std::erase_if(taken, [&](const ConformanceCase& each) {
    const std::string operation = each.token.substr(0, each.token.find('_'));
    if (!declared.at("operations").contains(operation)) return true;
    for (const auto& without : declared.value("without", nlohmann::json::array())) {
      const auto of = without.find("operations");
      if ((of == without.end() || std::find(of->begin(), of->end(), operation) != of->end()) &&
          std::regex_search(each.token, std::regex(without.at("where").get<std::string>())))
        return true;
    }
    return false;
  });
  return taken;
}

// As GoogleTest allows names.
inline std::string name_of(std::string token) {
  for (char& letter : token)
    if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
  return token;
}

}  // namespace danaus::conformance
