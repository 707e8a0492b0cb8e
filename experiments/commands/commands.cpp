#include "experiments/commands/commands.hpp"

#include <array>
#include <exception>
#include <iomanip>
#include <new>

#include "experiments/cli/console.hpp"
#include "experiments/cli/interrupt.hpp"
#include "reference/spelling.hpp"

namespace danaus {
namespace {

constexpr std::array kCommands = {
    Command{"verify", "is every method as close to the truth as its bound says?", &run_verify},
    Command{"random", "does any call, whatever its lengths, alignments and data, give a wrong result?", &run_random},
    Command{"selftest", "does this machine compute the committed bits?", &run_selftest},
    Command{"record", "what ran where: which tests passed on this device, and which sanitizers?", &run_record},
    Command{"bench", "how long does each method take on the GPU, and is it right?", &run_bench},
    Command{"stale", "which measured rows are of the kernels as they are now?", &run_stale},
    Command{"decode", "what does one position after the other take, by which way?", &run_decode},
    Command{"calibrate", "what can this GPU do, as a hardware profile for the model?", &run_calibrate},
    Command{"arithmetic", "does this GPU round as the executor's rules say?", &run_arithmetic},
    Command{"count", "how much work does a kernel do, and does a GPU's own count agree?", &run_count},
    Command{"model", "what time does the cost model predict, and what limits it?", &run_model},
    Command{"memory", "how much memory of the device does a convolution take?", &run_memory},
    Command{"what-if", "what stays in one kernel with less shared memory, and what does that cost?", &run_what_if},
    Command{"explore", "what does a frequency mask save, and what does it do to the answer?", &run_explore},
    Command{"convolve", "what is the convolution of my own u and k?", &run_convolve},
    Command{"fields", "what does a truncated spectrum leave of a field?", &run_fields},
    Command{"factors", "what do the matrices of a Monarch factorization look like?", &run_factors},
    Command{"explain", "what does a token ask for, and what would a plan do?", &run_explain},
    Command{"list", "which cases, methods, kernels, profiles and sweeps are there?", &run_list},
    Command{"help", "what does a command do, and what may a token say?", &run_help},
    Command{"info", "what is this program, and what machine does it run on?", &run_info},
};

int dispatch(Console& console) {
  const std::span<const std::string> argv = console.argv;
  if (argv.size() < 2) {
    print_program_help(console.err);
    return kExitBadInput;
  }
  const std::string& word = argv[1];
  if (word == "--help" || word == "-h") {
    print_program_help(console.out);
    return kExitOk;
  }
  std::vector<std::string> names;
  for (const Command& command : kCommands) {
    if (command.name == word) return command.run(argv.subspan(2), console);
    names.emplace_back(command.name);
  }
  fail(must_be_one_of("unknown command", word, names));
}

}  // namespace

std::span<const Command> commands() { return kCommands; }

void print_program_help(std::ostream& out) {
  out << "usage: danaus COMMAND [options]\n"
         "       danaus COMMAND --help       the command's options\n"
         "       danaus help tokens          the words that describe a case\n\n";
  for (const Command& command : kCommands)
    out << "  " << std::left << std::setw(12) << command.name << command.question << '\n';
  out << "\nexit codes: 0 ok, 1 a check failed, 2 bad input or usage, 77 no suitable device, 130 interrupted\n";
}

int run_program(Console& console) {
  try {
    const int code = dispatch(console);
    console.out.flush();
    if (!console.out) fail("stdout: what was printed could not be written (a full disk or a closed pipe)");
    return code;
  } catch (const Interrupted& interrupted) {
    console.err << "danaus: " << printable(interrupted.what()) << std::endl;
    return kExitInterrupted;
  } catch (const std::bad_alloc&) {
    console.err << "danaus: out of memory" << std::endl;
  } catch (const std::exception& error) {
    console.err << "danaus: " << printable(error.what()) << std::endl;
  }
  return kExitBadInput;
}

}  // namespace danaus
