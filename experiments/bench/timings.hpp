// What danaus bench prints: each row as it is measured, and at the end what the rows come to.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "experiments/cli/environment.hpp"
#include "experiments/cli/table.hpp"

namespace danaus {

class Timings {
 public:
  // The table goes to `out`, why a row has no time to `notices`.
  Timings(std::ostream& out, std::ostream& notices, std::size_t token_width);

  void add(const Json& row);
  void print_summary();
  int failed() { return statuses_["failed"]; }

 private:
  std::ostream& out_;
  std::ostream& notices_;
  std::size_t token_width_;
  std::optional<Table> table_;
  std::map<std::string, int> statuses_;
  int added_ = 0;
};

}  // namespace danaus
