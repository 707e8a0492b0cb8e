#include <unistd.h>

#include <iostream>

#include "experiments/cli/interrupt.hpp"
#include "experiments/commands/commands.hpp"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  danaus::watch_for_interrupt();
  danaus::Console console{std::cout, std::cerr, isatty(STDERR_FILENO) == 1, {argv, argv + argc}};
  return danaus::run_program(console);
}
