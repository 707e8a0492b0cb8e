// How far a command is, on stderr where it is a terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

#include "experiments/cli/console.hpp"

namespace danaus {

// One line that says how much is done and how long the rest takes.
class Progress {
 public:
  Progress(Console& console, std::size_t total) : console_(console), total_(total) {}
  ~Progress() { clear(); }

  void show(std::size_t done, std::string_view current);
  void clear();  // before anything else is printed

 private:
  Console& console_;
  std::size_t total_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace danaus
