// danaus arithmetic: does this GPU round as the rules say that the executor follows?
#include "experiments/arithmetic/arithmetic.hpp"

#include <limits>

#include "experiments/cli/interrupt.hpp"
#include "experiments/cli/progress.hpp"
#include "experiments/cli/table.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/job.hpp"
#include "kernels/cuda/machine.hpp"
#include "reference/spelling.hpp"

namespace danaus {
namespace {

constexpr const char* kDescription =
    "Runs every instruction whose result the kernels round, on random and hostile operands, and compares each output\n"
    "with the instruction's rule, bit for bit: products of matrices of all shapes and types, packed arithmetic,\n"
    "conversions. NaN is NaN, whatever its bits. Where a GPU follows another rule, a row says which. Exit 1 then, 77\n"
    "without a GPU.";

constexpr int kDefaultCount = 10'000'000;

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const Instruction& instruction : instructions()) names.emplace_back(instruction.name);
  return names;
}

}  // namespace

int run_arithmetic(std::span<const std::string> words, Console& console) {
  Job job(console, "arithmetic", kDescription);
  std::optional<int> ordinal, asked_count, seed;
  std::vector<std::string> only;
  job.line.option("device", ordinal, "NUMBER", "which GPU (default 0)");
  job.line.option("count", asked_count, "NUMBER", text("outputs of each instruction (default ", kDefaultCount, ')'));
  job.line.option("seed", seed, "NUMBER", "other operands (default 0)");
  job.line.option("instruction", only, "NAME", "one of them (default: all); may be repeated");
  if (!job.parse(words, "one JSON object an instruction; - for stdout, in place of the table")) return kExitOk;
  if (ordinal.value_or(0) < 0) fail("arithmetic: device=", *ordinal, ", must be at least 0");
  if (asked_count.value_or(1) < 1) fail("arithmetic: count=", *asked_count, ", must be at least 1");
  if (seed.value_or(0) < 0) fail("arithmetic: seed=", *seed, ", must not be negative");
  const std::vector<std::string> known = names();
  for (const std::string& name : only)
    if (std::ranges::find(known, name) == known.end()) fail(must_be_one_of("arithmetic: instruction", name, known));
  if (cuda_device_count() == 0) return without_gpu(console, "arithmetic");
  const Device device = cuda_device(ordinal.value_or(0));
  const int count = asked_count.value_or(kDefaultCount);
  ResultFile results = job.log("arithmetic");
  job.configure({{"device", device.name}, {"outputs", text(count, " of each instruction")}});

  std::vector<std::size_t> numbers;
  for (std::size_t number = 0; number < known.size(); ++number) {
    const Instruction& of = instructions()[number];
    if (!only.empty() && std::ranges::find(only, of.name) == only.end()) continue;
    if (device.sm >= of.least_sm && device.sm <= of.most_sm) numbers.push_back(number);
  }
  if (numbers.empty()) fail("arithmetic: ", device.name, " has none of these instructions");
  Progress progress(console, numbers.size());
  std::vector<std::vector<std::string>> cells;
  bool missed = false;
  std::size_t done = 0;
  for (const std::size_t number : numbers) {
    const Instruction& of = instructions()[number];
    if (interrupt_requested()) throw Interrupted(text("arithmetic: interrupted, ", done, " instructions are done"));
    progress.show(done++, of.name);
    const host::ProductRule rule = rule_of(of, device.sm);
    const Findings findings = hold(of, rule, count, static_cast<std::uint64_t>(seed.value_or(0)) << 32,
                                   [&](const OperandWords& operands) { return run_on_gpu(number, operands, device); });
    results.append(row_of(of, rule, findings, device));
    missed |= findings.misses > 0;
    cells.push_back({std::string(of.name), std::to_string(findings.outputs), std::to_string(findings.misses),
                     in_words(of, rule), findings.follows});
  }
  progress.clear();
  using enum Column::Align;
  print_table(
      job.out(),
      {{"instruction", 0, left}, {"outputs", 0, right}, {"misses", 0, right}, {"rule", 0, left}, {"follows", 0, left}},
      cells);
  return missed ? kExitCheckFailed : kExitOk;
}

}  // namespace danaus
