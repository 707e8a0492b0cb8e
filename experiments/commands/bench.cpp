// danaus bench: how long does each method take on the GPU?
#include <algorithm>
#include <limits>
#include <map>

#include "experiments/bench/bencher.hpp"
#include "experiments/bench/stale_rows.hpp"
#include "experiments/bench/sweeps.hpp"
#include "experiments/bench/timings.hpp"
#include "experiments/cli/table.hpp"
#include "experiments/code/row_code.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/job.hpp"
#include "experiments/io/mask_file.hpp"
#include "kernels/cuda/machine.hpp"

namespace danaus {
namespace {

constexpr const char* kDescription =
    "Verifies each case by each method on the GPU, times it, and verifies it again. Takes cases of every operation,\n"
    "and times a plan as a whole and part by part. Without --case it goes through a sweep, by default the first, "
    "which\n"
    "takes minutes. --kernel NAME times a kernel that the plan would not choose; factors in a token do the same.\n"
    "Exit 1 if a row fails, 77 without a GPU.";

constexpr double kSecondsOfRow = 5;  // a guess: bursts idle for 150 ms each, and a row is verified twice

struct Options {
  std::vector<Case> cases;
  std::string rows_of;    // in words
  bool by_token = false;  // cases are those of --case
  bool stale = false;     // cases and methods are those of rows
  std::vector<const Method*> methods;
  bool every_method = false;
  int device = 0;
  Protocol protocol;
};

int in_range(std::string_view what, int least, int most, const std::optional<int>& given, int otherwise) {
  const int value = given.value_or(otherwise);
  if (value < least) fail("bench: ", what, '=', value, ", must be at least ", least);
  if (value > most) fail("bench: ", what, '=', value, ", must be at most ", most);
  return value;
}

// False when only help was wanted.
bool read_options(Job& job, std::span<const std::string> words, Options& options) {
  constexpr int kAny = std::numeric_limits<int>::max();
  std::string sweep, mask;
  std::vector<std::string> tokens, methods;
  std::optional<int> device, launches, repetitions;
  bool burst_only = false;
  CommandLine& line = job.line;
  line.option("case", tokens, "TOKEN", "a case; may be repeated");
  line.option("mask", mask, "FILE", kMaskHelp);
  line.option("sweep", sweep, "NAME", join(case_sweep_names()) + " (default: the first); see danaus list bench");
  line.flag("stale", options.stale, "times the stale rows of --json FILE again, and leaves the others");
  line.option("method", methods, "NAME", join(names_of(timed_methods())) + " (default: all); may be repeated");
  job.add_kernel_option();
  line.option("device", device, "NUMBER", "which GPU (default 0)");
  line.option("launches", launches, "NUMBER",
              text("timed together in a burst (default 10, at most ", kMostLaunches, ')'));
  line.option("repetitions", repetitions, "NUMBER", "bursts, 150 ms of idling before each (default 5)");
  line.flag("burst-only", burst_only, "leaves out the times under sustained load");
  if (!job.parse(words)) return false;

  job.exclude({typed("--case", tokens), typed("--sweep", sweep), options.stale ? "--stale" : ""});
  if (options.stale && (job.json().empty() || !job.prints()))
    fail("bench: --stale needs --json FILE, whose stale rows it times again");
  if (!mask.empty() && tokens.empty()) fail("bench: --mask is for the cases given by --case");
  job.reads("--mask", mask);
  if (!mask.empty()) mask_tokens(tokens, mask);
  const CaseSweep& chosen = sweep.empty() ? case_sweeps().front() : case_sweep("bench", sweep);
  options.rows_of = options.stale    ? "the file's stale rows"
                    : tokens.empty() ? text("the sweep '", chosen.name, "'")
                                     : "the cases given";
  for (const std::string& method : methods) options.methods.push_back(&timed_method(method, "bench: method"));
  options.every_method = methods.empty();
  if (options.every_method)
    for (const Method& method : timed_methods()) options.methods.push_back(&method);
  options.device = in_range("device", 0, kAny, device, options.device);
  options.protocol.launches = in_range("launches", 1, kMostLaunches, launches, options.protocol.launches);
  options.protocol.repetitions = in_range("repetitions", 1, kAny, repetitions, options.protocol.repetitions);
  options.protocol.sustained = !burst_only;
  for (const std::string& word : tokens) options.cases.push_back(parse_case(word));
  options.by_token = !tokens.empty();
  if (tokens.empty() && !options.stale) options.cases = chosen.cases();
  return true;
}

// Each case by each method that computes it on the device; one that was asked for by name says why it does not.
std::vector<TimedCase> timed_cases(const Options& options, const Job& job, const Device& device) {
  std::vector<TimedCase> list;
  if (options.stale) {
    list = stale_rows(job.json(), device.name);
    std::erase_if(list, [&](const TimedCase& timed) { return std::ranges::count(options.methods, timed.method) == 0; });
    if (list.empty()) fail("bench: ", job.json(), " has no stale rows of ", device.name);
    return list;
  }
  for (const Case& asked : options.cases)
    for (const Method* method : options.methods)
      if (!options.every_method || !obstacle(*method, asked, device)) list.push_back({asked, method});
  if (list.empty()) fail("bench: no method computes ", options.cases.front().token(), " on ", device.name);
  return list;
}

// The fields of a row that say what was asked, and which code was timed.
Json describe(const TimedCase& timed, const Json& device_fields, const Protocol& protocol) {
  Json fields = {{"case", timed.asked.token()},
                 {"method", timed.method->name},
                 {"device", device_fields},
                 {"protocol",
                  {{"launches", protocol.launches},
                   {"warmups", protocol.warmups},
                   {"repetitions", protocol.repetitions},
                   {"idle_ms", protocol.idle_ms},
                   {"load_ms", protocol.load_ms},
                   {"sustained", protocol.sustained}}},
                 {"code", code_of(*timed.method, timed.asked, device_of(device_fields)).words()},
                 {"stopwatch", kRevision.stopwatch},
                 {"compiler", compiler_in_words()}};
  return fields;
}

// A row stands as long as what it timed, what timed it and the compiler are the same, whatever became of the rest of
// the program.
bool times_this_code(const Json& row) {
  return row.value("compiler", "") == compiler_in_words() && row.contains("stopwatch") &&
         standing_of(row) == Standing::current;
}

// Rows of a case are made together, so that its methods can take turns; they are asked for one by one.
class RowsOfCases {
 public:
  RowsOfCases(Bencher& bencher, const std::vector<TimedCase>& list) : bencher_(bencher), list_(list) {}

  Json row(std::size_t i) {
    if (!made_.contains(i)) make_from(i);
    const Json row = made_.at(i);
    made_.erase(i);
    return row;
  }

 private:
  void make_from(std::size_t first) {
    made_.clear();
    std::vector<const Method*> methods;
    const std::string token = list_[first].asked.token();
    for (std::size_t i = first; i < list_.size() && list_[i].asked.token() == token; ++i)
      methods.push_back(list_[i].method);
    std::vector<Json> rows = bencher_.rows(list_[first].asked, methods);
    for (std::size_t i = 0; i < rows.size(); ++i) made_.emplace(first + i, std::move(rows[i]));
  }

  Bencher& bencher_;
  const std::vector<TimedCase>& list_;
  std::map<std::size_t, Json> made_;
};

}  // namespace

int run_bench(std::span<const std::string> words, Console& console) {
  Job job(console, "bench", kDescription);
  Options options;
  if (!read_options(job, words, options)) return kExitOk;
  if (cuda_device_count() == 0) return without_gpu(console, "bench");
  const Device device = cuda_device(options.device);
  job.ask_for_kernel(options.by_token ? options.cases : std::vector<Case>(), device);
  const std::vector<TimedCase> list = timed_cases(options, job, device);
  const Protocol& protocol = options.protocol;
  const std::unique_ptr<Bencher> bencher = make_bencher(device, protocol);

  std::vector<Json> asked;
  std::size_t longest_token = 0;
  for (const TimedCase& timed : list) {
    asked.push_back(describe(timed, bencher->device(), protocol));
    if (!job.kernel().empty() && timed.method->name == kPlan) asked.back()["asked_kernel"] = job.kernel();
    longest_token = std::max(longest_token, timed.asked.token().size());
  }
  job.configure(
      {{"rows", text(list.size(), " of ", options.rows_of)},
       {"device", device.name + ", copies " + fixed(1e-12 * bencher->copy_rate(), 2) + " TB/s"},
       {"burst",
        text(protocol.repetitions, " of ", protocol.launches, " launches, ", protocol.idle_ms, " ms idle before each")},
       {"takes", text("about ", duration_in_words(kSecondsOfRow * static_cast<double>(list.size())))},
       {"sustained", protocol.sustained ? text("after ", protocol.load_ms, " ms of load") : "no (--burst-only)"},
       {"sources", sources_in_words()}});

  Timings timings(job.out(), console.err, longest_token);
  RowsOfCases rows(*bencher, list);
  job.make({.kind = "bench",
            .asked = asked,
            .make = [&](std::size_t i) { return rows.row(i); },
            .show = [&](std::size_t, const Json& row) { timings.add(row); },
            .is_current = times_this_code});
  timings.print_summary();
  return timings.failed() > 0 ? kExitCheckFailed : kExitOk;
}

}  // namespace danaus
