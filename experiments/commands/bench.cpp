// danaus bench: how long does each method take on the GPU?
#include <algorithm>

#include "experiments/bench/bencher.hpp"
#include "experiments/bench/sweeps.hpp"
#include "experiments/bench/timings.hpp"
#include "experiments/cli/interrupt.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/io/result_file.hpp"

namespace danaus {
namespace {

constexpr const char* kDescription =
    "Verifies each case by each method on the GPU, then times it. Without --case it goes through a sweep, by default\n"
    "all of them; --method selects rows of it. A case with factors times the kernel that has them. Exit 1 when a row\n"
    "fails, 77 without a GPU.";

struct Request {
  std::vector<std::string> cases;
  const BenchSweep* sweep = nullptr;  // without cases
  std::vector<BenchMethod> methods;
  bool every_method = false;
  int device = 0;
  Protocol protocol;
  std::string json;
};

// A row to come.
struct Question {
  Convolution problem;
  BenchMethod method;
};

int at_least(std::string_view what, int least, const std::optional<int>& given, int otherwise) {
  if (given.value_or(otherwise) < least) fail("bench: ", what, '=', *given, ", must be at least ", least);
  return given.value_or(otherwise);
}

// False when only help was wanted.
bool read_request(std::span<const std::string> words, Console& console, Request& request) {
  std::string sweep;
  std::vector<std::string> methods;
  std::optional<int> device, launches, repetitions;
  bool burst_only = false;
  CommandLine line("bench", kDescription);
  line.option("case", request.cases, "TOKEN", "a case; may be repeated");
  line.option("sweep", sweep, "NAME", bench_sweep_names() + " (default: the first); see danaus list bench");
  line.option("method", methods, "NAME", names_in(kBenchMethods) + " (default: all); may be repeated");
  line.option("device", device, "NUMBER", "which GPU (default 0)");
  line.option("launches", launches, "NUMBER", "timed together in a burst (default 10)");
  line.option("repetitions", repetitions, "NUMBER", "bursts, 150 ms of idling before each (default 5)");
  line.flag("burst-only", burst_only, "leaves out the times under sustained load");
  line.option("json", request.json, "FILE", "result rows, one JSON object a line; - for stdout, in place of the table");
  if (!line.parse(words, console)) return false;

  if (!request.cases.empty() && !sweep.empty()) fail("bench: --case and --sweep exclude each other");
  if (request.cases.empty()) request.sweep = sweep.empty() ? &bench_sweeps().front() : &bench_sweep("bench", sweep);
  for (const std::string& method : methods) request.methods.push_back(parse_in(kBenchMethods, "bench: method", method));
  request.every_method = methods.empty();
  if (request.every_method)
    for (const auto& entry : kBenchMethods) request.methods.push_back(entry.value);
  request.device = at_least("device", 0, device, request.device);
  request.protocol.launches = at_least("launches", 1, launches, request.protocol.launches);
  request.protocol.repetitions = at_least("repetitions", 1, repetitions, request.protocol.repetitions);
  request.protocol.sustained = !burst_only;
  return true;
}

// Each case by each method that computes it on the device; a method that was asked for by name says why it does not.
std::vector<Question> questions_of(const Request& request, const std::vector<Convolution>& cases,
                                   const Device& device) {
  std::vector<Question> questions;
  for (const Convolution& problem : cases)
    for (BenchMethod method : request.methods)
      if (!request.every_method || !obstacle(method, problem, device)) questions.push_back({problem, method});
  return questions;
}

// The fields of a row that say what was asked, and which code was timed.
Json describe_bench(const Question& question, const Json& device, const Protocol& protocol) {
  const bool kernel = question.method == BenchMethod::kernel;
  return {{"case", token(question.problem)},
          {"method", name_in(kBenchMethods, question.method)},
          {"device", device},
          {"protocol",
           {{"launches", protocol.launches},
            {"warmups", protocol.warmups},
            {"repetitions", protocol.repetitions},
            {"idle_ms", protocol.idle_ms},
            {"load_ms", protocol.load_ms},
            {"sustained", protocol.sustained}}},
          {"code", kernel ? kRevision.kernels : kRevision.baselines}};
}

// A row stands as long as what it timed is the same, whatever became of the rest of the program.
bool times_this_code(const Json& row) {
  const bool kernel = row.value("method", "") == name_in(kBenchMethods, BenchMethod::kernel);
  return row.value("code", "") == (kernel ? kRevision.kernels : kRevision.baselines);
}

}  // namespace

int run_bench(std::span<const std::string> words, Console& console) {
  Request request;
  if (!read_request(words, console, request)) return kExitOk;
  std::vector<Convolution> cases;
  for (const std::string& word : request.cases) cases.push_back(parse_convolution(word));
  if (request.sweep) cases = request.sweep->cases();

  if (Device::cuda_count() == 0) return without_gpu(console, "bench");
  const Device device = Device::cuda(request.device);
  const std::vector<Question> questions = questions_of(request, cases, device);
  if (questions.empty()) fail("bench: no method computes ", token(cases.front()), " on ", device.name);
  const std::unique_ptr<Bencher> bencher = make_bencher(device, request.protocol);

  std::vector<Json> asked;
  std::set<std::string> identities;
  std::size_t longest_token = 0;
  for (const Question& question : questions) {
    asked.push_back(describe_bench(question, bencher->device(), request.protocol));
    identities.insert(identity(asked.back()));
    longest_token = std::max(longest_token, token(question.problem).size());
  }
  print_configuration(
      console, "bench",
      {{"rows",
        std::to_string(questions.size()) +
            (request.sweep ? " of the sweep '" + std::string(request.sweep->name) + "'" : " of the cases given")},
       {"device", device.name + ", copies " + fixed(1e-12 * bencher->copy_rate(), 2) + " TB/s"},
       {"burst", std::to_string(request.protocol.repetitions) + " of " + std::to_string(request.protocol.launches) +
                     " launches, " + std::to_string(request.protocol.idle_ms) + " ms idle before each"},
       {"sustained", request.protocol.sustained ? "after " + std::to_string(request.protocol.load_ms) + " ms of load"
                                                : "no (--burst-only)"},
       {"rows kept", request.json.empty() ? "no (--json FILE keeps them)" : request.json},
       {"sources", std::string(kRevision.sources) + ", git " + kRevision.git + (kRevision.dirty ? ", dirty" : "")}});

  ResultFile results(console, request.json, "bench", identities, times_this_code);
  Timings timings(console, questions.size(), longest_token, request.json != "-");
  for (std::size_t i = 0; i < questions.size(); ++i) {
    if (const Json* row = results.standing(identity(asked[i]))) {
      timings.add(*row);
      continue;
    }
    if (interrupt_requested()) {
      timings.clear_progress();
      throw Interrupted("bench: interrupted after " + std::to_string(i) + " of " + std::to_string(questions.size()) +
                        " rows, they are " + results.place());
    }
    Json row = asked[i];
    row.update(bencher->row(questions[i].problem, questions[i].method));
    timings.add(results.append(row));
  }
  timings.print_summary();
  return timings.failed() > 0 ? kExitCheckFailed : kExitOk;
}

}  // namespace danaus
