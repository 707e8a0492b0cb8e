// The command line of every subcommand: options, help, exit codes, and where words go.
//
// stdout carries data, stderr carries the resolved configuration (first of all), notices and progress.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace danaus {

inline constexpr int kExitOk = 0;
inline constexpr int kExitCheckFailed = 1;
inline constexpr int kExitBadInput = 2;       // also wrong usage
inline constexpr int kExitNoDevice = 77;      // ctest counts it as skipped
inline constexpr int kExitInterrupted = 130;  // Ctrl-C

struct Console {
  std::ostream& out;
  std::ostream& err;
  bool err_is_terminal = false;   // a progress bar is drawn only where someone watches
  std::vector<std::string> argv;  // the whole command as typed; result rows record it
};

// Says on stderr what a command is about to do, every default resolved.
void print_configuration(Console& console, std::string_view command,
                         const std::vector<std::pair<std::string, std::string>>& settings);

// The options of one subcommand. Values are written to the variables given here, which hold the defaults before.
class CommandLine {
 public:
  CommandLine(std::string command, std::string description);
  ~CommandLine();

  void flag(const std::string& name, bool& value, const std::string& help);
  void option(const std::string& name, std::string& value, const std::string& placeholder, const std::string& help);
  void option(const std::string& name, std::optional<double>& value, const std::string& placeholder,
              const std::string& help);
  void option(const std::string& name, std::optional<int>& value, const std::string& placeholder,
              const std::string& help);
  // May be given several times.
  void option(const std::string& name, std::vector<std::string>& values, const std::string& placeholder,
              const std::string& help);
  // A word without a name, in the order of these calls; `required` ones must be there.
  void argument(const std::string& name, std::string& value, bool required, const std::string& help);

  // False when --help was asked for: it has been printed to console.out and nothing is left to do.
  // Throws std::invalid_argument for what it does not understand.
  bool parse(std::span<const std::string> words, Console& console);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace danaus
