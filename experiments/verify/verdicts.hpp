// What danaus verify prints: each row as it is judged, and at the end what the rows come to.
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
    std::size_t rows;         // that are to come
    std::size_t token_width;  // of the longest case
    bool failures_only;       // the table leaves out rows that passed or were skipped
    bool judges;              // a row beyond its bound is a failure; otherwise it is what the sweep is there to show
    bool to_stdout;           // false: stdout carries the rows themselves, and only failures are said, on stderr
  };

  Verdicts(Console& console, const Options& options);

  void add(const Trial& trial, const Json& row);
  void print_summary();

  std::size_t rows() const { return added_; }
  int count(const std::string& status) const;

  // Takes the progress line away before something else is printed.
  void clear_progress() { progress_.clear(); }

 private:
  // The rows that vary the same thing.
  struct Group {
    std::map<std::string, int> rows;  // by status
    double clearance = 0;             // the largest
    std::string where;
  };

  Console& console_;
  Options options_;
  std::ostream nowhere_{nullptr};
  std::ostream& out_;
  Progress progress_;
  std::optional<Table> table_;
  std::vector<std::string> order_;  // of the groups
  std::map<std::string, Group> groups_;
  std::map<std::string, int> statuses_;
  std::size_t added_ = 0;
};

}  // namespace danaus
