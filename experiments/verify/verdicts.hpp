// What danaus verify prints: each row as it is made, and at the end what the rows come to.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/cli/environment.hpp"
#include "experiments/cli/table.hpp"
#include "experiments/verify/trials.hpp"

namespace danaus {

class Verdicts {
 public:
  struct Options {
    std::size_t token_width;  // of the longest case
    bool failures_only;       // the table leaves out rows that passed or were skipped
    bool judges;              // a row beyond its bound is a failure; otherwise it is what the sweep is there to show
  };

  // The table goes to `out`, how to repeat a failure to `failures`.
  Verdicts(std::ostream& out, std::ostream& failures, const Options& options);

  void add(const Trial& trial, const Json& row);
  void print_summary();

  int count(const std::string& status) const;

 private:
  // The rows that vary the same thing.
  struct Group {
    std::map<std::string, int> rows;  // by status
    double clearance = 0;             // the largest
    std::string where;
  };

  std::ostream& out_;
  std::ostream& failures_;
  Options options_;
  std::optional<Table> table_;
  std::vector<std::string> order_;  // of the groups
  std::map<std::string, Group> groups_;
  std::map<std::string, int> statuses_;
  std::map<std::string, int> reasons_;  // why rows were skipped, or passed without some samples
  int added_ = 0;
};

}  // namespace danaus
