// danaus model: what the cost models predict, term by term, and what limits it.
#include <algorithm>
#include <array>
#include <thread>

#include "experiments/bench/sweeps.hpp"
#include "experiments/cli/environment.hpp"
#include "experiments/cli/table.hpp"
#include "experiments/code/row_code.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/job.hpp"
#include "experiments/count/imitation.hpp"
#include "experiments/methods/method.hpp"
#include "experiments/predict/measured_predictions.hpp"
#include "experiments/predict/predictions.hpp"
#include "kernels/cpu/program_work.hpp"
#include "model/cost.hpp"
#include "reference/names.hpp"

namespace danaus {
namespace {

using enum Column::Align;

constexpr const char* kDescription =
    "Predicts the time of a case by two models. Eq. 2 of Fu et al. 2023 takes convolutions, term by term. The\n"
    "roofline takes the work that the executor counts, launch by launch, of every operation; short convolutions\n"
    "and state-space models are also predicted by FFT. --measured predicts the kernels that danaus bench timed.\n"
    "--forecast writes rows for a GPU before anything was timed on it, with day and code, to be judged by later\n"
    "rows. Needs no GPU.";

// Of the paper's Table 19.
constexpr const char* kPaper = "A100-40GB";

void print_terms(std::ostream& out, const Json& row) {
  out << row["case"].get<std::string>() << " on " << row["profile"].get<std::string>() << '\n';
  std::vector<std::vector<std::string>> cells;
  for (const Json& term : row["terms"])
    cells.push_back({term["factor"].dump(), fixed(term["compute_us"], 3), term["unit"], fixed(term["memory_us"], 3),
                     term["memory"], term["reason"]});
  print_table(out,
              {{"factor", 0, right},
               {"compute, us", 0, right},
               {"unit", 0, left},
               {"memory, us", 0, right},
               {"stored in", 0, left},
               {"why", 0, left}},
              cells);
  out << "total " << fixed(row["total_us"], 3) << " us, " << fixed(row["ps_per_token_bh"], 2)
      << " ps per token, limited by " << row["limit"].get<std::string>() << '\n';
}

void print_resources(std::ostream& out, const Json& row) {
  out << row["case"].get<std::string>() << " on " << row["profile"].get<std::string>() << ": counted work of "
      << row["variant"].get<std::string>() << (row.contains("method") ? ", " + row["method"].get<std::string>() : "")
      << '\n';
  std::vector<std::vector<std::string>> cells;
  for (const Json& resource : row["resources"])
    cells.push_back({resource["name"], fixed(resource["us"], 1), resource["what"]});
  print_table(out, {{"resource", 0, left}, {"us", 0, right}, {"work", 0, left}}, cells);
  if (row.contains("launches")) {
    out << '\n';
    std::vector<std::vector<std::string>> launches;
    for (const Json& launch : row["launches"])
      launches.push_back(
          {launch["part"], launch["kernel"], launch["times"].dump(), fixed(launch["us"], 1), launch["limit"]});
    print_table(
        out,
        {{"part", 0, left}, {"launch", 0, left}, {"times", 0, right}, {"us each", 0, right}, {"limited by", 0, left}},
        launches);
  }
  if (row.contains("prepare_us"))
    out << "preparing the filters " << fixed(row["prepare_us"], 1) << " us, not in the total\n";
  const double waits = row["waits"].get<double>() * row["wait_us"].get<double>();
  out << "total " << fixed(row["total_us"], 1) << " us at overlap " << fixed(row["overlap"], 2) << ", warp rate "
      << fixed(row["warp_rate"], 3) << " and wait " << fixed(row["wait_us"], 2) << " us, " << fixed(waits, 1)
      << " us of them waits, " << fixed(row["launch_us"], 1) << " the launch; limited by "
      << row["limit"].get<std::string>() << '\n';
}

void print_prediction(std::ostream& out, const Json& row) {
  row["model"] == "eq2" ? print_terms(out, row) : print_resources(out, row);
  for (const Json& note : row["notes"]) out << "note: " << note.get<std::string>() << '\n';
  out << '\n';
}

// A line for each prediction.
void print_summary(std::ostream& out, const std::vector<Json>& rows) {
  std::vector<std::vector<std::string>> cells;
  for (const Json& row : rows) {
    const std::string constants = row["profile"] == kPaper ? ", the paper's constants" : "";
    cells.push_back({row["case"], row["model"] == "eq2" ? "Eq. 2" : row.value("method", "roofline"),
                     row["profile"].get<std::string>() + constants, fixed(row["total_us"], 1), row["limit"]});
  }
  print_table(out,
              {{"case", 0, left}, {"model", 0, left}, {"profile", 0, left}, {"us", 0, right}, {"limited by", 0, left}},
              cells);
}

void print_figure4(std::ostream& out, const std::vector<Json>& rows) {
  std::vector<std::vector<std::string>> cells;
  for (const Json& row : rows) {
    const Convolution problem = parse_convolution(row["case"].get<std::string>());
    cells.push_back({row["profile"], std::to_string(problem.fft_size), join(problem.factors, " x "),
                     fixed(row["ps_per_token_bh"], 2), row["limit"]});
  }
  print_table(
      out,
      {{"profile", 0, left}, {"N", 0, right}, {"factors", 0, left}, {"ps per token", 0, right}, {"limit", 0, left}},
      cells);
}

enum class Models { eq2, roofline, both };

constexpr std::array kModels = {
    Named{Models::eq2, "eq2", "Eq. 2"},
    Named{Models::roofline, "roofline", "over counted work"},
    Named{Models::both, "both", "both of them"},
};

struct Options {
  std::vector<std::string> tokens, profiles, measured;
  bool figure4 = false, forecast = false;
  std::optional<int> order;
  Concurrency concurrency;
  Models models = Models::both;
};

// False when only help was wanted.
bool read_options(Job& job, std::span<const std::string> words, Options& options) {
  std::string model, sweep;
  std::optional<double> overlap, warp_rate, wait;
  CommandLine& line = job.line;
  line.option("case", options.tokens, "TOKEN", "a case; Eq. 2 chooses its factors if it names none; may be repeated");
  line.option("sweep", sweep, "NAME", "figure4: N = 256 to 4M, orders 2 to 4; or one of danaus bench");
  line.option("model", model, "NAME", names_in(kModels) + " (default: both; figure4 is of Eq. 2 alone)");
  line.option("profile", options.profiles, "NAME",
              "hardware profile, by name or a .json file (default: all); may be repeated");
  line.option("order", options.order, "NUMBER", "Eq. 2: number of factors (default: the cheapest; in figure4: all)");
  line.option("overlap", overlap, "NUMBER",
              "roofline: 1 if no resources overlap, large if all do (default: as fitted)");
  line.option("warp-rate", warp_rate, "NUMBER", "roofline: instructions a clock of one warp (default: as fitted)");
  line.option("wait", wait, "NUMBER",
              "roofline: microseconds of a wait for memory that was not prefetched (default: as fitted)");
  line.option("measured", options.measured, "FILE",
              "rows of danaus bench: predict the kernels that they timed; may be repeated");
  line.flag("forecast", options.forecast, "roofline of the kernels alone, on one profile, to be judged later");
  if (!job.parse(words)) return false;

  for (const std::string& file : options.measured) job.reads("--measured", file);
  if (!model.empty()) options.models = parse_in(kModels, "model: model", model);
  job.exclude({typed("--case", options.tokens), typed("--sweep", sweep), typed("--measured", options.measured)});
  if (options.tokens.empty() && sweep.empty() && options.measured.empty())
    fail("model: one of --case, --sweep and --measured must be given");
  options.figure4 = sweep == "figure4";
  const CaseSweep* cases = find_case_sweep(sweep);
  if (!sweep.empty() && !options.figure4 && !cases)
    fail("model: sweep '", sweep, "', must be figure4 or a sweep of danaus bench");
  if (cases)
    for (const Case& asked : cases->cases()) options.tokens.push_back(asked.token());
  if (options.figure4 && options.models == Models::roofline)
    fail("model: figure4 has no kernels to count; leave --model out");
  if (options.figure4) options.models = Models::eq2;
  if (options.forecast) {
    if (options.figure4 || !options.measured.empty() || options.models == Models::eq2)
      fail("model: --forecast is of counted work before anything is measured; it takes --case or a sweep of bench");
    if (options.profiles.size() != 1)
      fail("model: --forecast with ", options.profiles.size(),
           " profiles, must be one, of the GPU that will be measured");
    options.models = Models::roofline;
  }
  const auto& order = options.order;
  if (order && (*order < 1 || *order > 5)) fail("model: order=", *order, ", must be from 1 to 5");
  if (order && options.figure4 && std::find(std::begin(kOrders), std::end(kOrders), *order) == std::end(kOrders))
    fail("model: order=", *order, ", the sweep has orders 2, 3 and 4");
  if (overlap && !(*overlap >= 1)) fail("model: overlap=", *overlap, ", must be at least 1");
  if (warp_rate && !(*warp_rate > 0)) fail("model: warp-rate=", *warp_rate, ", must be positive");
  if (wait && !(*wait >= 0)) fail("model: wait=", *wait, ", must be at least 0");
  if (overlap || warp_rate || wait) {
    Concurrency& own = options.concurrency;
    own.overlap = overlap.value_or(own.overlap), own.warp_rate = warp_rate.value_or(own.warp_rate);
    own.wait_us = wait.value_or(own.wait_us), own.fitted_to = "";
  }
  if (!options.measured.empty() && (overlap || warp_rate || wait))
    fail("model: ",
         overlap     ? "overlap"
         : warp_rate ? "warp-rate"
                     : "wait",
         " with --measured: plots/make.py fits it to the rows; leave it out");
  if (!options.measured.empty() && options.profiles.size() > 1)
    fail("model: ", options.profiles.size(), " profiles, --measured takes that of the device that was measured");
  if (options.profiles.empty())
    options.profiles = options.measured.empty() ? profile_names() : std::vector<std::string>{"H200"};
  return true;
}

std::string why_uncounted(const Case& asked, const HardwareProfile& profile) {
  try {
    require_counted(asked, imitation(profile));
  } catch (const std::invalid_argument& reason) {
    return reason.what();
  }
  return "its work is not counted";
}

// Those of Eq. 2 before those of the roofline.
std::vector<PredictedCase> predicted_cases(const Options& options, const std::vector<HardwareProfile>& profiles,
                                           std::ostream& notices) {
  std::vector<PredictedCase> cases, of_kernels;
  if (options.figure4) cases = figure4_cases(profiles, options.order);
  for (const std::string& word : options.tokens)
    for (const HardwareProfile& profile : profiles) {
      const Case asked = parse_case(word);
      const bool is_convolution = asked.as<Convolution>();
      if (options.models == Models::roofline || !is_convolution) require_counted(asked, imitation(profile));
      if (options.models == Models::eq2 || (options.models == Models::both && is_convolution))
        cases.push_back(for_eq2(word, options.order, profile));
      if (options.models == Models::eq2) continue;
      const auto of_kernel = for_roofline(word, profile, options.concurrency);
      if (!of_kernel) {
        notices << "notice: " << word << " on " << profile.name << " has no roofline: " << why_uncounted(asked, profile)
                << '\n';
        continue;
      }
      of_kernels.push_back(*of_kernel);
      if (options.forecast) continue;
      for (PredictedCase& other : by_other_ways(*of_kernel)) of_kernels.push_back(std::move(other));
    }
  cases.insert(cases.end(), of_kernels.begin(), of_kernels.end());
  return cases;
}

// What the kernel was that a time is foretold of.
Json forecast(const PredictedCase& predicted) {
  Json row = prediction(predicted);
  row["code"] = code_of(timed_method(kPlan), predicted.asked, imitation(predicted.profile)).words();
  return row;
}

}  // namespace

int run_model(std::span<const std::string> words, Console& console) {
  Job job(console, "model", kDescription);
  Options options;
  if (!read_options(job, words, options)) return kExitOk;
  std::vector<HardwareProfile> profiles;
  std::vector<std::string> names;
  for (const std::string& word : options.profiles) {
    profiles.push_back(job.profile(word));
    names.push_back(profiles.back().name);
  }
  if (!options.measured.empty())
    return predict_measured(options.measured, profiles.front(), load_profile(kPaper), job.json(), console);

  const std::vector<PredictedCase> cases = predicted_cases(options, profiles, console.err);
  std::vector<Json> asked, rows;
  for (const PredictedCase& predicted : cases) asked.push_back(describe(predicted));
  job.configure({{"predictions", std::to_string(cases.size())},
                 {"profiles", join(names)},
                 {"model", std::string(name_in(kModels, options.models))}});
  job.make({.kind = options.forecast ? "forecast" : "model",
            .asked = asked,
            .make = [&](std::size_t i) { return options.forecast ? forecast(cases[i]) : prediction(cases[i]); },
            .show =
                [&](std::size_t, const Json& row) {
                  if (!options.figure4) print_prediction(job.out(), row);
                  rows.push_back(row);
                },
            .threads = std::thread::hardware_concurrency()});
  options.figure4 ? print_figure4(job.out(), rows) : print_summary(job.out(), rows);
  return kExitOk;
}

}  // namespace danaus
