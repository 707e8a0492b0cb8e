// The subcommands of the program: one function per question, all listed in one table.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "experiments/cli/command_line.hpp"
#include "experiments/methods/method.hpp"

namespace danaus {

struct Command {
  std::string_view name;
  std::string_view question;  // the question that it answers, for the program's help
  // `words` is what follows the command's name; returns an exit code, throws std::invalid_argument for bad input.
  int (*run)(std::span<const std::string> words, Console& console);
};

std::span<const Command> commands();
// The usage line, and a line for each command.
void print_program_help(std::ostream& out);

// danaus verify with any table of methods; run_verify() takes judged_methods().
int verify(std::span<const std::string> words, Console& console, std::span<const Method> methods);

int run_verify(std::span<const std::string> words, Console& console);
int run_random(std::span<const std::string> words, Console& console);
int run_record(std::span<const std::string> words, Console& console);
int run_selftest(std::span<const std::string> words, Console& console);
int run_stale(std::span<const std::string> words, Console& console);
int run_bench(std::span<const std::string> words, Console& console);
int run_decode(std::span<const std::string> words, Console& console);
int run_arithmetic(std::span<const std::string> words, Console& console);
int run_calibrate(std::span<const std::string> words, Console& console);
int run_count(std::span<const std::string> words, Console& console);
int run_model(std::span<const std::string> words, Console& console);
int run_fields(std::span<const std::string> words, Console& console);
int run_factors(std::span<const std::string> words, Console& console);
int run_memory(std::span<const std::string> words, Console& console);
int run_what_if(std::span<const std::string> words, Console& console);
int run_explore(std::span<const std::string> words, Console& console);
int run_convolve(std::span<const std::string> words, Console& console);
int run_list(std::span<const std::string> words, Console& console);
int run_explain(std::span<const std::string> words, Console& console);
int run_help(std::span<const std::string> words, Console& console);
int run_info(std::span<const std::string> words, Console& console);

// The program without its process: console.argv is the whole command line. Turns every error into one line on
// console.err and an exit code.
int run_program(Console& console);

}  // namespace danaus
