// Where the words of a command go, and what its exit code says.
//
// stdout carries data, stderr carries the resolved configuration (first of all), notices and progress.
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace danaus {

inline constexpr int kExitOk = 0;
inline constexpr int kExitCheckFailed = 1;
inline constexpr int kExitBadInput = 2;       // also wrong usage
inline constexpr int kExitNoDevice = 77;      // ctest counts it as skipped
inline constexpr int kExitInterrupted = 130;  // Ctrl-C or SIGTERM

struct Console {
  std::ostream& out;
  std::ostream& err;
  bool err_is_terminal = false;   // a progress bar is drawn only where someone watches
  std::vector<std::string> argv;  // the whole command as typed; result rows record it
};

// The settings of a command: names and values, with every default resolved.
using Settings = std::vector<std::pair<std::string, std::string>>;
void print_configuration(Console& console, std::string_view command, const Settings& settings);

// The text with control characters, except ends of lines, as \x1b and the like. Words and files of a user must not
// steer the terminal that an error is printed to.
std::string printable(std::string_view text);

}  // namespace danaus
