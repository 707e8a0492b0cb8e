// One line on stderr that says how far a sweep is, where stderr is a terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

#include "experiments/cli.hpp"

namespace danaus {

class Progress {
 public:
  Progress(Console& console, std::size_t total);
  ~Progress() { clear(); }

  void show(std::size_t done, std::string_view current);
  void clear();  // before anything else is printed

 private:
  Console& console_;
  std::size_t total_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace danaus
