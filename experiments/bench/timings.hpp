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
  // Of `rows` rows to come; with to_stdout false stdout carries the rows themselves, and nothing else is printed there.
  Timings(Console& console, std::size_t rows, std::size_t token_width, bool to_stdout);

  void add(const Json& row);
  void print_summary();
  int failed() { return statuses_["failed"]; }
  void clear_progress() { progress_.clear(); }

 private:
  std::ostream nowhere_{nullptr};
  std::ostream& out_;
  Console& console_;
  Progress progress_;
  std::size_t token_width_;
  std::optional<Table> table_;
  std::map<std::string, int> statuses_;
  std::size_t added_ = 0;
};

}  // namespace danaus
