#include "experiments/record/check.hpp"

#include <regex>
#include <set>

namespace danaus {
namespace {

const Json& field(const Text& results, const Json& object, const char* name) {
  if (!object.is_object() || !object.contains(name))
    fail("record: ", results.name, ": lacks '", name, "'; is it what --gtest_output=json:FILE wrote?");
  return object.at(name);
}

struct Counts {
  int passed = 0, skipped = 0;
  Json failed = Json::array();
};

void add_counts(const Text& results, Counts& counts) {
  const Json all = Json::parse(results.text, nullptr, false);
  for (const Json& suite : field(results, all, "testsuites"))
    for (const Json& test : field(results, suite, "testsuite")) {
      const Json& name = field(results, test, "name");
      const Json& result = field(results, test, "result");
      if (!name.is_string() || !result.is_string()) fail("record: ", results.name, ": a test's name is no string");
      if (test.contains("failures"))
        counts.failed.push_back(field(results, suite, "name").get<std::string>() + '.' + name.get<std::string>());
      else
        ++(result == "SKIPPED" || result == "SUPPRESSED" ? counts.skipped : counts.passed);
    }
}

// Of its last line, which a tool that was stopped has not.
int errors_of(Tool tool, const Text& log) {
  const std::regex summary(tool == Tool::racecheck ? R"(RACECHECK SUMMARY: (\d+) hazards? displayed)"
                                                   : R"(ERROR SUMMARY: (\d+) errors?)");
  std::smatch found;
  if (!std::regex_search(log.text, found, summary))
    fail("record: ", log.name, ": has no summary of ", name_in(kTools, tool), "; did it run to its end?");
  return std::stoi(found[1]);
}

}  // namespace

Json check_of(Tool tool, const std::string& program, std::span<const Text> results, std::span<const Text> logs) {
  const std::string_view name = name_in(kTools, tool);
  if (tool == Tool::none && !logs.empty()) fail("record: ", name, " has no log; leave --log out");
  if (tool != Tool::none && logs.size() != results.size())
    fail("record: ", name, " needs --log FILE for each --results, has ", logs.size(), " for ", results.size());
  Counts counts;
  std::set<std::string> read;
  for (const Text& each : results) {
    if (!read.insert(each.name).second) fail("record: ", each.name, " is given twice");
    add_counts(each, counts);
  }
  int errors = 0;
  for (const Text& log : logs) errors += errors_of(tool, log);
  Json row = {{"program", program},
              {"tests", {{"passed", counts.passed}, {"failed", counts.failed.size()}, {"skipped", counts.skipped}}},
              {"failed", counts.failed}};
  if (tool != Tool::none) row["errors"] = errors;
  row["status"] = counts.passed > 0 && counts.failed.empty() && errors == 0 ? "passed" : "failed";
  return row;
}

}  // namespace danaus
