// danaus list: the words that the other commands understand.
#include <algorithm>
#include <functional>
#include <set>

#include "experiments/bench/contenders.hpp"
#include "experiments/bench/sweeps.hpp"
#include "experiments/cli/table.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/job.hpp"
#include "experiments/verify/candidates.hpp"
#include "experiments/verify/trials.hpp"
#include "kernels/families/taps/family.hpp"
#include "kernels/plan/correlation.hpp"
#include "kernels/plan/long.hpp"
#include "kernels/plan/registry.hpp"
#include "model/profile.hpp"

namespace danaus {
namespace {

using Rows = std::vector<std::vector<std::string>>;

struct Topic {
  std::string name;
  std::vector<Column> columns;
  std::function<Rows()> rows;
  bool only_when_asked = false;  // long
};

Rows cases() {
  Rows rows;
  std::set<std::string> seen;
  for (const Trial& trial : trial_sweeps().front().trials(candidates()))
    if (seen.insert(trial.asked.token()).second) rows.push_back({trial.asked.token(), trial.group});
  return rows;
}

Rows methods() {
  Rows rows;
  for (const Candidate& candidate : candidates())
    rows.push_back({std::string(candidate.name), candidate.scaling ? std::string(name(*candidate.scaling)) : "",
                    std::string(candidate.summary)});
  return rows;
}

template <class Table>
Rows named(const Table& table) {
  Rows rows;
  for (const auto& entry : table) rows.push_back({std::string(entry.name), std::string(entry.summary)});
  return rows;
}

Rows profiles() {
  Rows rows;
  for (const std::string& name : profile_names()) rows.push_back({name, load_profile(name).device});
  return rows;
}

Rows sweep_rows() {
  Rows rows;
  for (const TrialSweep& sweep : trial_sweeps())
    rows.push_back(
        {std::string(sweep.name), std::to_string(sweep.trials(candidates()).size()), std::string(sweep.question)});
  return rows;
}

Rows bench_rows() {
  Rows rows;
  for (const CaseSweep& sweep : case_sweeps())
    rows.push_back({std::string(sweep.name), std::to_string(sweep.cases().size()), std::string(sweep.question)});
  return rows;
}

// Families of the kernels that a plan for an operation may run, those that prepare among them.
std::string families_of(std::string_view operation) {
  if (operation == "spectral") return "mix";
  if (operation == "spectralgrad") return "mix, correlate_mix";
  if (operation == "ssmconv") return "state";
  if (operation == "shortconv") return "direct, short_filter, toeplitz";
  if (operation == "shortconvgrad") return "correlate_short, direct, short_filter, toeplitz";
  std::set<std::string> names = {std::string(spectrum::Family::name)};
  for (const auto& v : variants()) names.emplace(v->family);
  for (const auto& v : long_variants()) names.emplace(v->family);
  if (operation != "fftconv") {
    for (const auto& c : correlators()) names.emplace(c->family);
    names.emplace(taps::Family::name);
  }
  return join(std::vector(names.begin(), names.end()));
}

Rows operation_rows() {
  Rows rows;
  for (const Operation& operation : operations())
    rows.push_back({std::string(operation.word), families_of(operation.word), std::string(operation.summary)});
  return rows;
}

std::string devices_of(const auto& kernel) {
  std::vector<std::string> devices;
  for (std::size_t i = 0; i < kDeviceClasses.size(); ++i)
    if (kernel.suits(static_cast<int>(i))) devices.emplace_back(kDeviceClasses[i].devices);
  return join(devices);
}

std::string compiled_in_words(bool compiled) { return compiled ? "yes" : "with DANAUS_ALL"; }

Rows kernels() {
  Rows rows;
  const auto add = [&](const Variant* v) {
    rows.push_back({v->name, std::to_string(v->size), join(v->factors), std::string(name(v->fold)),
                    v->gated ? "with" : "without", std::string(name(v->dtype)), std::to_string(v->threads),
                    std::to_string(v->shared_bytes), std::to_string(v->blocks_per_sm), devices_of(*v),
                    v->sparse      ? "for masks"
                    : v->preferred ? "by default"
                    : v->unaligned ? "for L no multiple of 8"
                                   : "for its factors",
                    compiled_in_words(v->compiled)});
  };
  for (const auto& v : variants()) add(v.get());
  for (const auto& v : sparse_variants()) add(v.get());
  for (const auto& v : long_variants()) add(v.get());
  for (const auto& c : correlators())
    rows.push_back({c->name, std::to_string(c->size), "", c->pair ? "pair" : "rightangle", "with",
                    std::string(name(c->dtype)), std::to_string(c->threads), std::to_string(c->shared_bytes), "",
                    devices_of(*c), "for gradients of filters", compiled_in_words(c->compiled)});
  return rows;
}

const std::vector<Topic>& topics() {
  using enum Column::Align;
  static const std::vector<Topic> kTopics = {
      {"operations", {{"operation"}, {"kernels of"}, {"what it is"}}, operation_rows},
      {"methods", {{"method"}, {"scaling"}, {"what it is"}}, methods},
      {"data", {{"data"}, {"what it is"}}, [] { return named(kDataKinds); }},
      {"filters", {{"filter"}, {"what it is"}}, [] { return named(kFilterKinds); }},
      {"profiles", {{"profile"}, {"device"}}, profiles},
      {"sweeps", {{"sweep"}, {"rows", 0, right}, {"question"}}, sweep_rows},
      {"bench", {{"bench sweep"}, {"cases", 0, right}, {"question"}}, bench_rows},
      {"timed", {{"timed method"}, {"what it is"}}, [] { return named(kContenders); }},
      {"kernels",
       {{"kernel"},
        {"N", 0, right},
        {"factors"},
        {"fold"},
        {"gates"},
        {"dtype"},
        {"threads", 0, right},
        {"shared bytes", 0, right},
        {"blocks per SM", 0, right},
        {"devices"},
        {"chosen"},
        {"compiled"}},
       kernels,
       true},
      {"cases", {{"case"}, {"there to vary"}}, cases, true},
  };
  return kTopics;
}

}  // namespace

int run_list(std::span<const std::string> words, Console& console) {
  Job job(console, "list", "The words that the other commands understand. Without a topic: all but kernels and cases.");
  std::string chosen;
  job.line.argument("TOPIC", chosen, false,
                    "operations, methods, data, filters, profiles, sweeps, bench, timed, kernels or cases");
  if (!job.parse(words, "one JSON object a line; - for stdout, in place of the tables")) return kExitOk;

  std::vector<std::string> names;
  for (const Topic& topic : topics()) names.push_back(topic.name);
  if (!chosen.empty() && std::find(names.begin(), names.end(), chosen) == names.end())
    fail("list: topic '", chosen, "', must be one of ", join(names));
  ResultFile results = job.log("list");
  bool first = true;
  for (const Topic& topic : topics()) {
    if (chosen.empty() ? topic.only_when_asked : chosen != topic.name) continue;
    const Rows rows = topic.rows();
    if (!first) job.out() << '\n';
    print_table(job.out(), topic.columns, rows);
    first = false;
    for (const auto& row : rows) {
      Json object = {{"topic", topic.name}};
      for (std::size_t i = 0; i < row.size(); ++i) object[topic.columns[i].title] = row[i];
      results.append(object);
    }
  }
  return kExitOk;
}

}  // namespace danaus
