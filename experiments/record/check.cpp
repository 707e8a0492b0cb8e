#include "experiments/record/check.hpp"

#include <regex>

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

Counts counts_of(const Text& results) {
  const Json all = Json::parse(results.text, nullptr, false);
  Counts counts;
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
  return counts;
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

Json check_of(Tool tool, const std::string& program, const Text& results, const std::optional<Text>& log) {
  if ((tool != Tool::none) != log.has_value())
    fail("record: ", name_in(kTools, tool), log ? " has no log; leave --log out" : " needs --log FILE");
  const Counts counts = counts_of(results);
  Json row = {{"program", program},
              {"tests", {{"passed", counts.passed}, {"failed", counts.failed.size()}, {"skipped", counts.skipped}}},
              {"failed", counts.failed}};
  const int errors = log ? errors_of(tool, *log) : 0;
  if (log) row["errors"] = errors;
  row["status"] = counts.passed > 0 && counts.failed.empty() && errors == 0 ? "passed" : "failed";
  return row;
}

}  // namespace danaus
