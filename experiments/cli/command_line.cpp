#include "experiments/cli/command_line.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <iomanip>

#include "reference/basics.hpp"
#include "reference/spelling.hpp"

namespace danaus {

namespace po = boost::program_options;

struct CommandLine::State {
  std::string command, description;
  po::options_description options{"options", 110, 60};
  po::options_description arguments;
  po::positional_options_description positions;
  struct Argument {
    std::string name, help;
    bool required;
  };
  std::vector<Argument> order;

  void print_help(std::ostream& out) const {
    out << "usage: danaus " << command;
    for (const Argument& argument : order)
      out << ' ' << (argument.required ? argument.name : '[' + argument.name + ']');
    out << " [options]\n\n" << description << "\n\n";
    for (const Argument& argument : order)
      out << "  " << std::left << std::setw(22) << argument.name << argument.help << '\n';
    if (!order.empty()) out << '\n';
    out << options;
  }
};

CommandLine::CommandLine(std::string command, std::string description) : state_(std::make_unique<State>()) {
  state_->command = std::move(command);
  state_->description = std::move(description);
}

CommandLine::~CommandLine() = default;

void CommandLine::flag(const std::string& name, bool& value, const std::string& help) {
  state_->options.add_options()(name.c_str(), po::bool_switch(&value), help.c_str());
}

void CommandLine::option(const std::string& name, std::string& value, const std::string& placeholder,
                         const std::string& help) {
  state_->options.add_options()(name.c_str(), po::value(&value)->value_name(placeholder), help.c_str());
}

void CommandLine::option(const std::string& name, std::optional<double>& value, const std::string& placeholder,
                         const std::string& help) {
  const auto store = [&value](double given) { value = given; };
  state_->options.add_options()(name.c_str(), po::value<double>()->value_name(placeholder)->notifier(store),
                                help.c_str());
}

void CommandLine::option(const std::string& name, std::optional<int>& value, const std::string& placeholder,
                         const std::string& help) {
  const auto store = [&value](int given) { value = given; };
  state_->options.add_options()(name.c_str(), po::value<int>()->value_name(placeholder)->notifier(store), help.c_str());
}

void CommandLine::option(const std::string& name, std::vector<std::string>& values, const std::string& placeholder,
                         const std::string& help) {
  state_->options.add_options()(name.c_str(), po::value(&values)->value_name(placeholder), help.c_str());
}

void CommandLine::argument(const std::string& name, std::string& value, bool required, const std::string& help) {
  state_->arguments.add_options()(name.c_str(), po::value(&value), help.c_str());
  state_->positions.add(name.c_str(), 1);
  state_->order.push_back({name, help, required});
}

bool CommandLine::parse(std::span<const std::string> words, Console& console) {
  state_->options.add_options()("help,h", "print this and exit");
  po::options_description everything;
  everything.add(state_->options).add(state_->arguments);
  const auto misused = [&](std::string_view what) {
    fail(state_->command, ": ", what, " (see danaus ", state_->command, " --help)");
  };
  try {
    po::variables_map values;
    po::store(po::command_line_parser(std::vector<std::string>(words.begin(), words.end()))
                  .options(everything)
                  .positional(state_->positions)
                  .style(po::command_line_style::unix_style & ~po::command_line_style::allow_guessing)
                  .run(),
              values);
    if (values.count("help")) {
      state_->print_help(console.out);
      return false;
    }
    for (const auto& [name, value] : values) {
      const auto* const one = boost::any_cast<std::string>(&value.value());
      const auto* const several = boost::any_cast<std::vector<std::string>>(&value.value());
      if ((one && one->empty()) || (several && std::ranges::any_of(*several, &std::string::empty)))
        misused((state_->arguments.find_nothrow(name, false) ? "" : "--") + name + " is empty, must be a word");
    }
    po::notify(values);
    for (const State::Argument& argument : state_->order)
      if (argument.required && !values.count(argument.name)) misused(argument.name + " is missing");
  } catch (const po::too_many_positional_options_error&) {
    misused("more words without an option than the " + std::to_string(state_->order.size()) + " it takes");
  } catch (const po::unknown_option& error) {
    std::vector<std::string> known;
    for (const auto& option : state_->options.options()) known.push_back("--" + option->long_name());
    misused(error.what() + did_you_mean(error.get_option_name(), known));
  } catch (const po::error& error) {
    misused(error.what());
  }
  return true;
}

}  // namespace danaus
