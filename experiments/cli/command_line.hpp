// The command line of every command: options and help.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiments/cli/console.hpp"

namespace danaus {

// The options of one command. A variable holds the default of its option, and the option's value after parse().
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
  // A word without a name. Words come in the order of these calls; `required` ones must be given.
  void argument(const std::string& name, std::string& value, bool required, const std::string& help);

  // False if --help was given; the help is printed to console.out then.
  // Throws std::invalid_argument for unknown options and wrong values.
  bool parse(std::span<const std::string> words, Console& console);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace danaus
