// danaus list: the words that the other commands understand.
#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "experiments/bench/sweeps.hpp"
#include "experiments/cli/table.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/job.hpp"
#include "experiments/count/imitation.hpp"
#include "experiments/methods/method.hpp"
#include "experiments/operations/study.hpp"
#include "experiments/verify/trials.hpp"
#include "kernels/plan/correlation.hpp"
#include "kernels/plan/long.hpp"
#include "kernels/plan/named_kernel.hpp"
#include "kernels/plan/registry.hpp"
#include "model/profile.hpp"
#include "reference/convolution/mask.hpp"
#include "reference/spelling.hpp"
#include "reference/step/step.hpp"

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
  for (const Trial& trial : trial_sweeps().front().trials(judged_methods()))
    if (seen.insert(trial.asked.token()).second) rows.push_back({trial.asked.token(), trial.group});
  return rows;
}

Rows methods() {
  Rows rows;
  for (const Method& method : judged_methods())
    rows.push_back({std::string(method.name), method.scaling ? std::string(name(*method.scaling)) : "",
                    std::string(method.summary)});
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
        {std::string(sweep.name), std::to_string(sweep.trials(judged_methods()).size()), std::string(sweep.question)});
  return rows;
}

Rows bench_rows() {
  Rows rows;
  for (const CaseSweep& sweep : case_sweeps())
    rows.push_back({std::string(sweep.name), std::to_string(sweep.cases().size()), std::string(sweep.question)});
  return rows;
}

// Families of the kernels that a plan for an operation may run, those that prepare among them.
std::string families_of(std::string_view word) {
  const StudiedOperation* operation = find_studied_operation(word);
  if (!operation) return "";
  const std::set<std::string> names = operation->families();
  return join(std::vector(names.begin(), names.end()));
}

Rows operation_rows() {
  Rows rows;
  for (const Operation& operation : operations())
    rows.push_back({std::string(operation.word), std::string(operation.summary), families_of(operation.word)});
  std::ranges::sort(rows);  // an operation before its gradients
  return rows;
}

std::string devices_of(const auto& kernel) {
  std::vector<std::string> devices;
  for (std::size_t i = 0; i < kDeviceClasses.size(); ++i)
    if (kernel.suits(static_cast<int>(i))) devices.emplace_back(kDeviceClasses[i].devices);
  return join(devices);
}

std::string compiled_in_words(bool compiled) { return compiled ? "yes" : "with DANAUS_ALL"; }

std::string use_of(const Variant& v) {
  return v.sparse      ? "for masks"
         : v.preferred ? "by default"
         : v.unaligned ? "for L no multiple of 8"
                       : "for its factors";
}

constexpr const char* kForGradients = "for gradients of filters";

// Every kernel with all that is known of it.
Rows kernels() {
  Rows rows;
  const auto add = [&](const Variant* v) {
    rows.push_back({v->name, std::to_string(v->size), join(v->factors), std::string(name(v->fold)),
                    v->gated ? "with" : "without", std::string(name(v->dtype)), std::to_string(v->threads),
                    std::to_string(v->shared_bytes), std::to_string(v->blocks_per_sm), devices_of(*v), use_of(*v),
                    compiled_in_words(v->compiled)});
  };
  for (const auto& v : variants()) add(v.get());
  for (const auto& v : sparse_variants()) add(v.get());
  for (const auto& v : long_variants()) add(v.get());
  for (const auto& c : correlators())
    rows.push_back({c->name, std::to_string(c->size), "", c->pair ? "pair" : "rightangle", "with",
                    std::string(name(c->dtype)), std::to_string(c->threads), std::to_string(c->shared_bytes), "",
                    devices_of(*c), kForGradients, compiled_in_words(c->compiled)});
  return rows;
}

// A line for each family: how many kernels, of which sizes.
void print_families(std::ostream& out) {
  struct Sum {
    std::set<int> sizes;
    int kernels = 0, chosen = 0, compiled = 0;
  };
  std::map<std::string, Sum> sums;
  const auto add = [&](const auto& kernel, bool chosen) {
    Sum& sum = sums[std::string(kernel.family)];
    sum.sizes.insert(kernel.size);
    ++sum.kernels, sum.chosen += chosen, sum.compiled += kernel.compiled;
  };
  for (const auto& v : variants()) add(*v, v->preferred || v->unaligned);
  for (const auto& v : sparse_variants()) add(*v, true);
  for (const auto& v : long_variants()) add(*v, v->preferred || v->unaligned);
  for (const auto& c : correlators()) add(*c, true);
  std::vector<std::vector<std::string>> cells;
  for (const auto& [family, sum] : sums) {
    const int least = *sum.sizes.begin(), most = *sum.sizes.rbegin();
    const std::string sizes = most == 0 ? "no FFT" : least == most ? text(least) : text(least, " to ", most);
    cells.push_back({family, sizes, text(sum.kernels), text(sum.chosen), text(sum.compiled)});
  }
  using enum Column::Align;
  print_table(out,
              {{"family", 0, left},
               {"FFT sizes", 0, left},
               {"kernels", 0, right},
               {"a plan's choice", 0, right},
               {"in this build", 0, right}},
              cells);
  out << "\nKernels of fftconv, fftconvgrad and fftconvstep, for all devices and types.\n"
         "danaus list kernels --case TOKEN    the kernels that compute a case\n"
         "danaus list kernels --details       every kernel, a long line for each\n"
         "danaus help tokens                  how a token is written\n";
}

bool makes_gradients_of(const Correlator& correlator, const Case& asked, const Device& device) try {
  NamedKernel(correlator.name).require(asked, device);
  return true;
} catch (const std::invalid_argument&) {
  return false;
}

// Those that --kernel can name for the case, the plan's choice first.
void print_kernels_of(const Case& asked, const HardwareProfile& profile, std::ostream& out) {
  const Device device = imitation(profile);
  const Convolution* p = convolution_of(asked);
  if (!p)
    fail("list: ", asked.token(), " has no kernels to choose among, only fftconv, fftconvgrad and fftconvstep have; ",
         "danaus explain ", asked.token(), " names those of its plan");
  const Variant& chosen = choose(*p, device, marks_of(*p));
  std::vector<std::vector<std::string>> cells;
  const auto add = [&](const auto& kernel, std::string use) {
    cells.push_back({kernel.name, text(kernel.size), text(kernel.threads), human_bytes(kernel.shared_bytes),
                     kernel.compiled ? std::move(use) : "needs DANAUS_ALL"});
  };
  add(chosen, "the plan's choice");
  const int most = 2 * chosen.size;  // a larger FFT than that is nobody's choice
  int larger = 0;
  const auto add_those = [&](const auto& list) {
    for (const auto& v : list) {
      if (v.get() == &chosen || !obstacle_of(*v, *p, device).empty()) continue;
      if (v->size > most)
        ++larger;
      else
        add(*v, "to compare");
    }
  };
  add_those(variants()), add_those(long_variants());
  if (!asked.as<Convolution>())
    for (const auto& c : correlators())
      if (c->size <= most && makes_gradients_of(*c, asked, device)) add(*c, "makes dk");
  using enum Column::Align;
  print_table(out,
              {{"kernel", 0, left}, {"N", 0, right}, {"threads", 0, right}, {"shared", 0, right}, {"use", 0, left}},
              cells);
  out << "\ndanaus verify, count and bench take one by --kernel NAME, with --case TOKEN";
  if (larger > 0) out << "\nnot shown: " << larger << " kernels of larger FFTs, see --details";
  out << '\n';
}

const std::vector<Topic>& topics() {
  using enum Column::Align;
  static const std::vector<Topic> kTopics = {
      {"operations", {{"operation"}, {"what it is"}, {"kernels of"}}, operation_rows},
      {"methods", {{"method"}, {"scaling"}, {"what it is"}}, methods},
      {"data", {{"data"}, {"what it is"}}, [] { return named(kDataKinds); }},
      {"filters", {{"filter"}, {"what it is"}}, [] { return named(kFilterKinds); }},
      {"profiles", {{"profile"}, {"device"}}, profiles},
      {"sweeps", {{"sweep"}, {"rows", 0, right}, {"question"}}, sweep_rows},
      {"bench", {{"bench sweep"}, {"cases", 0, right}, {"question"}}, bench_rows},
      {"timed", {{"timed method"}, {"what it is"}}, [] { return named(timed_methods()); }},
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
  std::string chosen, token, profile = "H200";
  bool details = false;
  job.line.argument("TOPIC", chosen, false,
                    "operations, methods, data, filters, profiles, sweeps, bench, timed, kernels or cases");
  job.line.option("case", token, "TOKEN", "kernels: those that compute the case");
  job.line.option("profile", profile, "NAME", "kernels with --case: for this device (default: H200)");
  job.line.flag("details", details, "kernels: every one, with factors, fold, gates, type, devices and use");
  if (!job.parse(words, "one JSON object a line; - for stdout, in place of the tables")) return kExitOk;

  std::vector<std::string> names;
  for (const Topic& topic : topics()) names.push_back(topic.name);
  if (!chosen.empty() && std::find(names.begin(), names.end(), chosen) == names.end())
    fail(must_be_one_of("list: topic", chosen, names));
  if ((details || !token.empty()) && chosen != "kernels") fail("list: --case and --details are of the topic kernels");
  job.exclude({typed("--case", token), details ? "--details" : ""});
  job.exclude({typed("--case", token), typed("--json", job.json())});
  if (chosen == "kernels" && !details && job.json().empty()) {
    token.empty() ? print_families(job.out()) : print_kernels_of(parse_case(token), job.profile(profile), job.out());
    return kExitOk;
  }
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
