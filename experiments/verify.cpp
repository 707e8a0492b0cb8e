#include "experiments/verify.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <thread>

#include "experiments/commands.hpp"
#include "experiments/in_order.hpp"
#include "experiments/interrupt.hpp"
#include "experiments/judgement.hpp"
#include "experiments/memory.hpp"
#include "experiments/progress.hpp"
#include "experiments/record.hpp"
#include "experiments/recording.hpp"
#include "experiments/table.hpp"
#include "experiments/trials.hpp"

namespace danaus {
namespace {

constexpr const char* kDescription =
    "Computes each case by each method, compares with the truth in double, and judges the error by its bound.\n"
    "Without --case it goes through a sweep, by default the whole matrix; --method, --data, --scale, --filter and\n"
    "--scaling then select rows of it. Exit 1 when a row fails.";

struct Request {
  std::vector<std::string> cases, methods;
  std::string data, filter, scaling, sweep, json, recording = kRecordingFolder;
  std::optional<double> scale;
  std::optional<int> seed;
  bool summary = false;
};

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::vector<std::string> names_of(std::span<const Candidate> candidates) {
  std::vector<std::string> names;
  for (const Candidate& candidate : candidates)
    if (names.empty() || names.back() != candidate.name) names.emplace_back(candidate.name);
  return names;
}

std::optional<Scaling> parse_scaling(const std::string& word) {
  if (word.empty()) return std::nullopt;
  for (Scaling scaling : {Scaling::unitary, Scaling::one_side})
    if (name(scaling) == word) return scaling;
  fail("verify: scaling '", word, "', must be unitary or one_side");
}

// --case: these cases, by the given methods or by all.
std::vector<Trial> trials_of_cases(const Request& request, std::span<const Candidate> candidates) {
  DataSpec data;
  if (!request.data.empty()) data.data = parse_data_kind(request.data);
  if (!request.filter.empty()) data.filter = parse_filter_kind(request.filter);
  data.scale = request.scale.value_or(data.scale);
  const Scaling scaling = parse_scaling(request.scaling).value_or(Scaling::unitary);
  std::vector<Trial> trials;
  for (const std::string& token : request.cases)
    for (const std::string& method : request.methods)
      for (const Candidate& candidate : candidates)
        if (candidate.name == method && candidate.scaling.value_or(scaling) == scaling)
          trials.push_back({parse_problem(token), data, candidate, "cases given"});
  return trials;
}

// A sweep, without the rows that the options rule out.
std::vector<Trial> trials_of_sweep(const Request& request, const Sweep& sweep, std::span<const Candidate> candidates) {
  const std::optional<Scaling> scaling = parse_scaling(request.scaling);
  std::optional<DataKind> data;
  if (!request.data.empty()) data = parse_data_kind(request.data);
  std::optional<FilterKind> filter;
  if (!request.filter.empty()) filter = parse_filter_kind(request.filter);
  std::vector<Trial> trials = sweep.trials(candidates);
  std::erase_if(trials, [&](const Trial& trial) {
    return std::find(request.methods.begin(), request.methods.end(), trial.candidate.name) == request.methods.end() ||
           trial.data.data != data.value_or(trial.data.data) ||
           trial.data.filter != filter.value_or(trial.data.filter) ||
           trial.data.scale != request.scale.value_or(trial.data.scale) ||
           (scaling && trial.candidate.scaling != scaling);
  });
  if (trials.empty()) fail("verify: no row of the sweep '", sweep.name, "' has what the options ask for");
  return trials;
}

const Sweep& find_sweep(const std::string& word) {
  std::vector<std::string> names;
  for (const Sweep& sweep : sweeps()) {
    if (sweep.name == word || word.empty()) return sweep;
    names.emplace_back(sweep.name);
  }
  fail("verify: sweep '", word, "', must be one of ", join(names));
}

double number(const Json& block, const char* field) {
  const bool finite = block.contains(field) && block[field].is_number();
  return finite ? block[field].get<double>() : std::numeric_limits<double>::quiet_NaN();
}

// What the rows come to, for each thing that was varied.
class Summary {
 public:
  void add(const std::string& group, const Json& row) {
    if (!tallies_.contains(group)) order_.push_back(group);
    Tally& tally = tallies_[group];
    const std::string status = row.at("verify").at("status");
    ++tally.rows[status];
    ++rows_[status];
    const double clearance = number(row.at("verify"), "clearance");
    if (clearance > tally.clearance || tally.where.empty()) {
      tally.clearance = clearance;
      tally.where = row.at("case").get<std::string>() + ", " + row.at("method").get<std::string>();
    }
  }

  int count(const std::string& status) const { return rows_.contains(status) ? rows_.at(status) : 0; }

  void print(std::ostream& out) {
    std::vector<std::vector<std::string>> cells;
    for (const std::string& group : order_) {
      Tally& tally = tallies_[group];
      cells.push_back({group, std::to_string(tally.rows["passed"]), std::to_string(tally.rows["failed"]),
                       std::to_string(tally.rows["skipped"]), fixed(tally.clearance, 2), tally.where});
    }
    using enum Column::Align;
    print_table(out,
                {{"varied", 0, left},
                 {"passed", 0, right},
                 {"failed", 0, right},
                 {"skipped", 0, right},
                 {"error/bound", 0, right},
                 {"largest at", 0, left}},
                cells);
  }

 private:
  struct Tally {
    std::map<std::string, int> rows;  // by status
    double clearance = 0;             // the largest
    std::string where;
  };
  std::vector<std::string> order_;
  std::map<std::string, Tally> tallies_;
  std::map<std::string, int> rows_;
};

std::vector<std::string> cells_of(const Trial& trial, const Json& row) {
  const Json& verdict = row.at("verify");
  std::ostringstream data;
  data << name(trial.data.data) << ' ' << trial.data.scale << ' ' << name(trial.data.filter);
  return {row.at("case"),
          std::string(trial.candidate.name) + (trial.candidate.scaling == Scaling::one_side ? " (one side)" : ""),
          data.str(),
          scientific(number(verdict, "rel_l2")),
          scientific(number(verdict, "bound")),
          fixed(number(verdict, "clearance"), 2),
          verdict.at("status")};
}

}  // namespace

int verify(std::span<const std::string> words, Console& console, std::span<const Candidate> candidates) {
  Request request;
  CommandLine line("verify", kDescription);
  line.option("case", request.cases, "TOKEN", "a case, as printed by a failing row; may be repeated");
  line.option("sweep", request.sweep, "NAME", "matrix (default), error or range; see danaus list sweeps");
  line.option("method", request.methods, "NAME", "fftw, monarch or rounded (default: all); may be repeated");
  line.option("data", request.data, "KIND", "gaussian, uniform, impulse, constant, heavy_tailed or recording");
  line.option("scale", request.scale, "NUMBER", "multiplies u (default 1)");
  line.option("filter", request.filter, "KIND", "random, s4d or hyena");
  line.option("scaling", request.scaling, "NAME", "where the rounding model puts 1/N: unitary (default) or one_side");
  line.option("seed", request.seed, "NUMBER", "other data for the same case (default 0)");
  line.option("recording", request.recording, "FOLDER", "its .wav files are --data recording");
  line.option("json", request.json, "FILE", "result rows, one JSON object a line; - for stdout, in place of the table");
  line.flag("summary", request.summary, "in the table only the rows that fail");
  if (!line.parse(words, console)) return kExitOk;

  if (!request.cases.empty() && !request.sweep.empty()) fail("verify: --case and --sweep exclude each other");
  if (request.scale && !(std::isfinite(*request.scale) && *request.scale > 0))
    fail("verify: scale=", *request.scale, ", must be positive");
  if (request.seed.value_or(0) < 0) fail("verify: seed=", *request.seed, ", must not be negative");
  const std::vector<std::string> known = names_of(candidates);
  for (const std::string& method : request.methods)
    if (std::find(known.begin(), known.end(), method) == known.end())
      fail("verify: method '", method, "', must be one of ", join(known));
  if (request.methods.empty()) request.methods = known;

  const bool by_case = !request.cases.empty();
  const Sweep& sweep = find_sweep(request.sweep);
  std::vector<Trial> trials =
      by_case ? trials_of_cases(request, candidates) : trials_of_sweep(request, sweep, candidates);
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  double memory = 0;
  std::size_t longest_token = 0;
  std::vector<std::string> identities, methods;
  for (Trial& trial : trials) {
    trial.data.seed = static_cast<std::uint64_t>(request.seed.value_or(0));
    const std::string operation = "verify " + token(trial.problem);
    require_memory(operation, memory_of(resolved(trial.problem)));  // before a plan for a size that is hopeless
    memory = std::max(memory, memory_of(planned(trial.problem)));
    require_memory(operation, memory);
    const std::string method(trial.candidate.name);
    if (std::find(methods.begin(), methods.end(), method) == methods.end()) methods.push_back(method);
    longest_token = std::max(longest_token, token(trial.problem).size());
    Json asked = describe(trial);
    asked["kind"] = "verify";
    identities.push_back(identity(asked));
  }
  require_memory("verify on " + std::to_string(threads) + " threads",
                 memory * std::min<double>(threads, trials.size()));
  const std::vector<double> recording = read_recording(request.recording);

  print_configuration(
      console, "verify",
      {{"rows", std::to_string(trials.size()) +
                    (by_case ? " of the cases given" : " of the sweep '" + std::string(sweep.name) + "'")},
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

  const bool table_wanted = request.json != "-";
  std::ostream nowhere(nullptr);
  std::ostream& out = table_wanted ? console.out : nowhere;
  using enum Column::Align;
  std::optional<Table> table;
  const auto print_row = [&](const std::vector<std::string>& cells) {
    if (!table)
      table.emplace(out, std::vector<Column>{{"case", longest_token, left},
                                             {"method", 8, left},
                                             {"data, scale, filter", 22, left},
                                             {"error", 9, right},
                                             {"bound", 9, right},
                                             {"error/bound", 0, right},
                                             {"verdict", 0, left}});
    table->row(cells);
  };
  Summary summary;
  Progress progress(console, trials.size());
  std::size_t reported = 0;
  const bool judges = by_case || sweep.judges;
  const auto report = [&](std::size_t i, const Json& row) {
    summary.add(trials[i].group, row);
    const bool failure = judges && row.at("verify").at("status") == "failed";
    if (!request.summary || failure) progress.clear();
    if (!request.summary || failure) print_row(cells_of(trials[i], row));
    if (failure) (table_wanted ? out : console.err) << "  repeat: " << repeat_command(trials[i]) << '\n';
    progress.show(++reported, row.at("case").get<std::string>());
  };
  const auto report_standing = [&](std::size_t until) {
    while (reported < until) report(reported, *results.standing(identities[reported]));
  };

  try {
    compute_in_order(
        missing.size(), threads, [&](std::size_t i) { return judge(trials[missing[i]], recording); },
        [&](std::size_t i, const Json& row) {
          report_standing(missing[i]);
          report(missing[i], results.append(row));
        });
  } catch (const Interrupted&) {
    progress.clear();
    throw Interrupted("verify: interrupted after " + std::to_string(reported) + " of " + std::to_string(trials.size()) +
                      " rows" +
                      (request.json.empty() || request.json == "-"
                           ? ""
                           : ", they stand in " + request.json + "; the same command goes on with the rest"));
  }
  report_standing(trials.size());
  progress.clear();

  if (table) out << '\n';
  summary.print(out);
  out << '\n'
      << trials.size() << " rows: " << summary.count("passed") << " passed, " << summary.count("failed") << " failed, "
      << summary.count("skipped") << " skipped\n";
  if (!judges && summary.count("failed") > 0) out << "(the sweep '" << sweep.name << "' is there to show these)\n";
  return judges && summary.count("failed") > 0 ? kExitCheckFailed : kExitOk;
}

int run_verify(std::span<const std::string> words, Console& console) { return verify(words, console, candidates()); }

}  // namespace danaus
