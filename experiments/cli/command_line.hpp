// The command line of every command: options and help.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiments/cli/console.hpp"

namespace danaus {

// The options of one command. Values are written to the variables given here, which hold the defaults before.
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
