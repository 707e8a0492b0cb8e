// danaus selftest: does this machine compute the bits that are committed?
#include "kernels/plan/selftest.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

#include "experiments/cli/interrupt.hpp"
#include "experiments/cli/progress.hpp"
#include "experiments/cli/table.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/job.hpp"
#include "experiments/io/pending_file.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cuda/machine.hpp"

namespace danaus {
namespace {

constexpr const char* kDescription =
    "Computes small cases of the kernels on canonical data and compares the digests of the outputs with the\n"
    "committed table (kernels/plan/digests.txt): on the CPU, or with --device on a GPU. A digest that differs means\n"
    "that some output differs in some bit. Exit 1 then, or if this build has none of the kernels; 77 without a GPU.";

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream contents;
  if (!file || !(contents << file.rdbuf())) fail("selftest: table '", path, "' cannot be read");
  return contents.str();
}

void print(std::ostream& out, std::span<const SelftestResult> results) {
  std::vector<std::vector<std::string>> cells;
  for (const SelftestResult& result : results)
    if (result.absent.empty() && !result.same())
      cells.push_back({result.of->token, digest_in_words(result.of->digest), digest_in_words(result.digest)});
  using enum Column::Align;
  if (!cells.empty()) print_table(out, {{"case", 0, left}, {"table", 0, left}, {"this machine", 0, left}}, cells);
}

// The table with this machine's digests; lines of cases that it does not compute stay.
std::string table_of(std::string table, std::span<const SelftestResult> results) {
  for (const SelftestResult& result : results)
    if (result.absent.empty()) table.replace(result.of->place, 16, digest_in_words(result.digest));
  return table;
}

}  // namespace

int run_selftest(std::span<const std::string> words, Console& console) {
  CommandLine line("selftest", kDescription);
  std::string table, output;
  std::optional<int> ordinal;
  line.option("device", ordinal, "NUMBER", "which GPU (default: the CPU)");
  line.option("table", table, "FILE", "digests and tokens (default: the committed ones)");
  line.option("output", output, "FILE", "the table with this machine's digests");
  if (!line.parse(words, console)) return kExitOk;
  if (ordinal.value_or(0) < 0) fail("selftest: device=", *ordinal, ", must be at least 0");
  const std::string known = table.empty() ? std::string(committed_digests()) : contents_of(table);
  const std::vector<DigestedCase> cases = read_digests(table.empty() ? "the committed table" : table, known);
  if (cases.empty()) fail("selftest: table '", table, "' has no case");
  if (ordinal && cuda_device_count() == 0) return without_gpu(console, "selftest", "--device needs");
  std::optional<PendingFile> file;  // a path that cannot be written is refused before the work
  if (!output.empty()) file.emplace(output);
  const auto machine = ordinal ? cuda_machine(*ordinal) : executor_machine();
  const unsigned threads = ordinal ? 1 : std::max(1u, std::thread::hardware_concurrency());
  Progress progress(console, cases.size());
  std::size_t done = 0;
  const std::vector<SelftestResult> results = selftest(cases, machine, threads, [&](const SelftestResult& result) {
    if (interrupt_requested()) throw Interrupted("selftest: interrupted");
    progress.show(++done, result.of->token);
  });
  progress.clear();
  print(console.out, results);
  const auto same = std::ranges::count_if(results, &SelftestResult::same);
  const auto absent = std::ranges::count_if(results, [](const auto& result) { return !result.absent.empty(); });
  const auto differing = std::ssize(results) - same - absent;
  console.out << machine->device().name << ": " << results.size() << " cases, " << same << " the same, " << differing
              << " differ" << (absent > 0 ? text(", ", absent, " not in this build") : "") << '\n';
  if (file) file->write(table_of(known, results)), file->commit();
  return differing > 0 || same == 0 ? kExitCheckFailed : kExitOk;
}

}  // namespace danaus
