// danaus verify: is every candidate as close to the truth as its bound says?
#include <algorithm>
#include <cmath>
#include <thread>

#include "experiments/cli/in_order.hpp"
#include "experiments/cli/interrupt.hpp"
#include "experiments/cli/memory.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/io/result_file.hpp"
#include "experiments/io/signal_file.hpp"
#include "experiments/verify/trials.hpp"
#include "experiments/verify/verdicts.hpp"
#include "experiments/verify/verification.hpp"

namespace danaus {
namespace {

constexpr const char* kDescription =
    "Computes each case by each method, compares with the truth in double, and judges the error by its bound.\n"
    "Without --case it goes through a sweep, by default the whole matrix; --method, --data, --scale, --filter and\n"
    "--scaling then select rows of it. Exit 1 when a row fails.";

struct Request {
  std::vector<std::string> cases, methods;
  const Sweep* sweep = nullptr;  // without cases
  std::optional<DataKind> data;
  std::optional<FilterKind> filter;
  std::optional<Scaling> scaling;
  std::optional<double> scale;
  std::uint64_t seed = 0;
  std::string json, recording = kRecordingFolder;
  bool summary = false;
  bool every_method = false;
};

std::vector<std::string> methods_of(std::span<const Candidate> candidates) {
  std::vector<std::string> methods;
  for (const Candidate& candidate : candidates)
    if (methods.empty() || methods.back() != candidate.name) methods.emplace_back(candidate.name);
  return methods;
}

std::vector<std::string> sweep_names() {
  std::vector<std::string> names;
  for (const Sweep& sweep : sweeps()) names.emplace_back(sweep.name);
  return names;
}

const Sweep& find_sweep(const std::string& word) {
  for (const Sweep& sweep : sweeps())
    if (sweep.name == word) return sweep;
  fail("verify: sweep '", word, "', must be one of ", join(sweep_names()));
}

// False when only help was wanted.
bool read_request(std::span<const std::string> words, Console& console, std::span<const Candidate> candidates,
                  Request& request) {
  const std::vector<std::string> methods = methods_of(candidates);
  std::string sweep, data, filter, scaling;
  std::optional<int> seed;
  CommandLine line("verify", kDescription);
  line.option("case", request.cases, "TOKEN", "a case, as printed by a failing row; may be repeated");
  line.option("sweep", sweep, "NAME", join(sweep_names()) + " (default: the first); see danaus list sweeps");
  line.option("method", request.methods, "NAME", join(methods) + " (default: all); may be repeated");
  line.option("data", data, "KIND", names_in(kDataKinds));
  line.option("scale", request.scale, "NUMBER", "multiplies u (default 1)");
  line.option("filter", filter, "KIND", names_in(kFilterKinds));
  line.option("scaling", scaling, "NAME", "where the rounding model puts 1/N: " + names_in(kScalings));
  line.option("seed", seed, "NUMBER", "other data for the same case (default 0)");
  line.option("recording", request.recording, "FOLDER", "its .wav files are --data recording");
  line.option("json", request.json, "FILE", "result rows, one JSON object a line; - for stdout, in place of the table");
  line.flag("summary", request.summary, "in the table only the rows that fail");
  if (!line.parse(words, console)) return false;

  if (!request.cases.empty() && !sweep.empty()) fail("verify: --case and --sweep exclude each other");
  if (request.scale && !(std::isfinite(*request.scale) && *request.scale > 0))
    fail("verify: scale=", *request.scale, ", must be positive");
  if (seed.value_or(0) < 0) fail("verify: seed=", *seed, ", must not be negative");
  for (const std::string& method : request.methods)
    if (std::find(methods.begin(), methods.end(), method) == methods.end())
      fail("verify: method '", method, "', must be one of ", join(methods));
  request.every_method = request.methods.empty();
  if (request.every_method) request.methods = methods;
  if (request.cases.empty()) request.sweep = sweep.empty() ? &sweeps().front() : &find_sweep(sweep);
  if (!data.empty()) request.data = parse_in(kDataKinds, "verify: data", data);
  if (!filter.empty()) request.filter = parse_in(kFilterKinds, "verify: filter", filter);
  if (!scaling.empty()) request.scaling = parse_in(kScalings, "verify: scaling", scaling);
  request.seed = static_cast<std::uint64_t>(seed.value_or(0));
  return true;
}

// The cases given, by each method that computes them; one that was asked for by name says why it does not.
std::vector<Trial> trials_of_cases(const Request& request, std::span<const Candidate> candidates) {
  DataSpec data;
  data.data = request.data.value_or(data.data);
  data.filter = request.filter.value_or(data.filter);
  data.scale = request.scale.value_or(data.scale);
  const Scaling scaling = request.scaling.value_or(Scaling::unitary);
  std::vector<Trial> trials;
  for (const std::string& token : request.cases)
    for (const std::string& method : request.methods)
      for (const Candidate& candidate : candidates)
        if (candidate.name == method && candidate.scaling.value_or(scaling) == scaling) {
          const Convolution problem = parse_convolution(token);
          if (request.every_method && !candidate.computes(problem)) continue;
          trials.push_back({problem, data, candidate, "cases given"});
        }
  return trials;
}

// A sweep, without the rows that the options rule out.
std::vector<Trial> trials_of_sweep(const Request& request, std::span<const Candidate> candidates) {
  std::vector<Trial> trials = request.sweep->trials(candidates);
  std::erase_if(trials, [&](const Trial& trial) {
    return std::find(request.methods.begin(), request.methods.end(), trial.candidate.name) == request.methods.end() ||
           trial.data.data != request.data.value_or(trial.data.data) ||
           trial.data.filter != request.filter.value_or(trial.data.filter) ||
           trial.data.scale != request.scale.value_or(trial.data.scale) ||
           (request.scaling && trial.candidate.scaling != request.scaling);
  });
  if (trials.empty()) fail("verify: no row of the sweep '", request.sweep->name, "' has what the options ask for");
  return trials;
}

void require_memory_for(const std::vector<Trial>& trials, unsigned threads) {
  double most = 0;
  for (const Trial& trial : trials) {
    const std::string operation = "verify " + token(trial.problem);
    require_memory(operation, memory_of(resolved(trial.problem)));  // before a plan for a size that is hopeless
    most = std::max(most, memory_of(trial.candidate.planned(trial.problem)));
    require_memory(operation, most);
  }
  require_memory("verify on " + std::to_string(threads) + " threads", most * std::min<double>(threads, trials.size()));
}

}  // namespace

int verify(std::span<const std::string> words, Console& console, std::span<const Candidate> candidates) {
  Request request;
  if (!read_request(words, console, candidates, request)) return kExitOk;
  std::vector<Trial> trials =
      request.sweep ? trials_of_sweep(request, candidates) : trials_of_cases(request, candidates);
  for (Trial& trial : trials) trial.data.seed = request.seed;
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  require_memory_for(trials, threads);
  const std::vector<double> recording = read_recording(request.recording);

  std::vector<std::string> identities, methods;
  std::size_t longest_token = 0;
  for (const Trial& trial : trials) {
    identities.push_back(identity(describe(trial)));
    longest_token = std::max(longest_token, token(trial.problem).size());
    const std::string method(trial.candidate.name);
    if (std::find(methods.begin(), methods.end(), method) == methods.end()) methods.push_back(method);
  }
  print_configuration(
      console, "verify",
      {{"rows",
        std::to_string(trials.size()) +
            (request.sweep ? " of the sweep '" + std::string(request.sweep->name) + "'" : " of the cases given")},
       {"methods", join(methods)},
       {"recording", recording.empty() ? "none in " + request.recording + ", rows that need it are skipped"
                                       : std::to_string(recording.size()) + " samples of " + request.recording},
       {"threads", std::to_string(threads)},
       {"rows kept", request.json.empty() ? "no (--json FILE keeps them)" : request.json},
       {"sources", std::string(kRevision.sources) + ", git " + kRevision.git + (kRevision.dirty ? ", dirty" : "")}});

  ResultFile results(console, request.json, "verify", {identities.begin(), identities.end()});
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < trials.size(); ++i)
    if (!results.standing(identities[i])) missing.push_back(i);
  if (missing.size() < trials.size())
    console.err << trials.size() - missing.size() << " rows stand in " << request.json << ", " << missing.size()
                << " to go\n";

  const bool judges = !request.sweep || request.sweep->judges;
  Verdicts verdicts(console, {trials.size(), longest_token, request.summary, judges, request.json != "-"});
  const auto add_standing = [&](std::size_t until) {
    while (verdicts.rows() < until)
      verdicts.add(trials[verdicts.rows()], *results.standing(identities[verdicts.rows()]));
  };
  try {
    compute_in_order(
        missing.size(), threads, [&](std::size_t i) { return judge(trials[missing[i]], recording); },
        [&](std::size_t i, const Json& row) {
          add_standing(missing[i]);
          verdicts.add(trials[missing[i]], results.append(row));
        });
  } catch (const Interrupted&) {
    verdicts.clear_progress();
    const bool kept = !request.json.empty() && request.json != "-";
    throw Interrupted("verify: interrupted after " + std::to_string(verdicts.rows()) + " of " +
                      std::to_string(trials.size()) + " rows" +
                      (kept ? ", they stand in " + request.json + "; the same command goes on with the rest" : ""));
  }
  add_standing(trials.size());
  verdicts.print_summary();
  return judges && verdicts.count("failed") > 0 ? kExitCheckFailed : kExitOk;
}

int run_verify(std::span<const std::string> words, Console& console) { return verify(words, console, candidates()); }

}  // namespace danaus
