#include "experiments/bench/stale_rows.hpp"

#include <algorithm>
#include <fstream>
#include <map>

#include "experiments/cli/environment.hpp"
#include "experiments/code/row_code.hpp"

namespace danaus {

std::vector<TimedCase> stale_rows(const std::string& path, std::string_view device) {
  std::ifstream file(path);
  if (!file) fail("bench: cannot read ", path);
  std::map<std::string, std::size_t, std::less<>> order;  // of cases
  std::vector<TimedCase> stale;
  for (std::string line; std::getline(file, line);) {
    const Json row = Json::parse(line, nullptr, false);
    if (!row.is_object() || row.value("kind", "") != "bench") fail("bench: ", path, " holds more than rows of bench");
    if (row.at("device").at("name") != device || row.contains("asked_kernel")) continue;
    if (standing_of(row) == Standing::current) continue;
    const std::string token = row.at("case");
    order.try_emplace(token, order.size());
    stale.push_back({parse_case(token), &timed_method(row.at("method").get<std::string>(), "bench: method")});
  }
  std::ranges::stable_sort(stale, {}, [&](const TimedCase& timed) { return order.at(timed.asked.token()); });
  return stale;
}

}  // namespace danaus
