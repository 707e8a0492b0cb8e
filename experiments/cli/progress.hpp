// How far a command is, on stderr.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "experiments/cli/console.hpp"

namespace danaus {

// "8 s", "12 min", "3 h"
std::string duration_in_words(double seconds);

// Of rows that are computed `at_once` at a time, after `done` > 0 of them.
double seconds_left(double elapsed, std::size_t done, std::size_t total, unsigned at_once);

// A line that says how much is done and how long the rest takes. On a terminal it is drawn again and again; elsewhere
// it is printed once, early, and only if the rest takes more than a minute.
class Progress {
 public:
  // `at_once`: how many rows are computed at the same time.
  Progress(Console& console, std::size_t total, unsigned at_once = 1)
      : console_(console), total_(total), at_once_(at_once) {}
  ~Progress() { clear(); }

  void show(std::size_t done, std::string_view current);
  void clear();  // before anything else is printed

 private:
  Console& console_;
  std::size_t total_;
  unsigned at_once_;
  bool has_warned_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace danaus
