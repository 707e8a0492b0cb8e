// danaus model: what the cost models predict, term by term, and what limits it.
#include <algorithm>
#include <array>
#include <cmath>

#include "experiments/bench/sweeps.hpp"
#include "experiments/commands.hpp"
#include "experiments/counting/imitation.hpp"
#include "experiments/counting/kernel_work.hpp"
#include "experiments/files/record.hpp"
#include "experiments/predict/measured_predictions.hpp"
#include "experiments/program/terminal.hpp"
#include "model/cost.hpp"

namespace danaus {
namespace {

constexpr const char* kDescription =
    "The time that Eq. 2 of Fu et al. 2023 predicts, term by term, and beside it that of a roofline over the work "
    "that\n"
    "the executor counts for the case's kernel. With --measured both are asked about the kernels that danaus bench "
    "timed.";

// Of the paper's Table 19.
constexpr const char* kPaper = "A100-40GB";

// A prediction of Eq. 2 to make.
struct Question {
  Convolution problem;  // with factors
  HardwareProfile profile;
};

Json row_of(const Question& question, const Prediction& prediction) {
  Json terms = Json::array();
  for (const Term& term : prediction.terms)
    terms.push_back({{"factor", term.factor},
                     {"compute_us", term.compute_us},
                     {"memory_us", term.memory_us},
                     {"unit", term.unit},
                     {"memory", term.memory},
                     {"reason", term.reason}});
  return {{"case", token(question.problem)}, {"order", question.problem.factors.size()},
          {"profile", prediction.profile},   {"model", prediction.model},
          {"total_us", prediction.total_us}, {"ps_per_token_bh", prediction.ps_per_token_bh},
          {"limit", prediction.limit},       {"terms", terms},
          {"notes", prediction.notes}};
}

void print_terms(std::ostream& out, const Question& question, const Prediction& prediction) {
  out << token(question.problem) << " on " << prediction.profile << '\n';
  std::vector<std::vector<std::string>> cells;
  for (const Term& term : prediction.terms)
    cells.push_back({std::to_string(term.factor), fixed(term.compute_us, 3), term.unit, fixed(term.memory_us, 3),
                     term.memory, term.reason});
  using enum Column::Align;
  print_table(out,
              {{"factor", 0, right},
               {"compute, us", 0, right},
               {"unit", 0, left},
               {"memory, us", 0, right},
               {"stored in", 0, left},
               {"why", 0, left}},
              cells);
  out << "total " << fixed(prediction.total_us, 3) << " us, " << fixed(prediction.ps_per_token_bh, 2)
      << " ps per token, limited by " << prediction.limit << '\n';
  for (const std::string& note : prediction.notes) out << "note: " << note << '\n';
  out << '\n';
}

// A prediction of the roofline to make.
struct KernelQuestion {
  Convolution problem;
  HardwareProfile profile;
};

Json row_of(const KernelQuestion& question, const Counted& counted, const RooflinePrediction& prediction) {
  Json resources = Json::array();
  for (const ResourceTime& resource : prediction.resources)
    resources.push_back({{"name", resource.name}, {"us", resource.us}, {"what", resource.what}});
  return {{"case", token(question.problem)},
          {"profile", prediction.profile},
          {"model", "roofline"},
          {"variant", name(*counted.variant)},
          {"total_us", prediction.total_us},
          {"limit", prediction.limit},
          {"overlap", prediction.concurrency.overlap},
          {"warp_rate", prediction.concurrency.warp_rate},
          {"launch_us", prediction.launch_us},
          {"resources", resources},
          {"notes", prediction.notes}};
}

void print_resources(std::ostream& out, const Json& row) {
  out << row["case"].get<std::string>() << " on " << row["profile"].get<std::string>() << ": counted work of "
      << row["variant"].get<std::string>() << '\n';
  std::vector<std::vector<std::string>> cells;
  for (const Json& resource : row["resources"])
    cells.push_back({resource["name"], fixed(resource["us"], 1), resource["what"]});
  using enum Column::Align;
  print_table(out, {{"resource", 0, left}, {"us", 0, right}, {"work", 0, left}}, cells);
  out << "total " << fixed(row["total_us"], 1) << " us at overlap " << fixed(row["overlap"], 2) << " and warp rate "
      << fixed(row["warp_rate"], 3) << ", " << fixed(row["launch_us"], 1) << " us of them the launch; limited by "
      << row["limit"].get<std::string>() << '\n';
  for (const Json& note : row["notes"]) out << "note: " << note.get<std::string>() << '\n';
  out << '\n';
}

// A line for each prediction.
void print_summary(std::ostream& out, const std::vector<Json>& rows) {
  std::vector<std::vector<std::string>> cells;
  for (const Json& row : rows) {
    const bool eq2 = row["model"] == "eq2";
    const std::string constants = row["profile"] == kPaper ? ", the paper's constants" : "";
    cells.push_back({row["case"], eq2 ? "Eq. 2" : "roofline", row["profile"].get<std::string>() + constants,
                     fixed(row["total_us"], 1), row["limit"]});
  }
  using enum Column::Align;
  print_table(out,
              {{"case", 0, left}, {"model", 0, left}, {"profile", 0, left}, {"us", 0, right}, {"limited by", 0, left}},
              cells);
}

void print_overview(std::ostream& out, const std::vector<Question>& questions,
                    const std::vector<Prediction>& predictions) {
  std::vector<std::vector<std::string>> cells;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    std::string factors;
    for (int factor : questions[i].problem.factors) factors += (factors.empty() ? "" : " x ") + std::to_string(factor);
    cells.push_back({predictions[i].profile, std::to_string(questions[i].problem.fft_size), factors,
                     fixed(predictions[i].ps_per_token_bh, 2), predictions[i].limit});
  }
  using enum Column::Align;
  print_table(
      out,
      {{"profile", 0, left}, {"N", 0, right}, {"factors", 0, left}, {"ps per token", 0, right}, {"limit", 0, left}},
      cells);
}

// Fu et al. 2023, Figure 4, and the same for the later devices.
std::vector<Question> figure4(const std::vector<HardwareProfile>& profiles, std::optional<int> order) {
  std::vector<Question> questions;
  for (const HardwareProfile& profile : profiles)
    for (int p : kOrders)
      for (std::int64_t length = 256; length <= 4 << 20; length *= 2) {
        if (p != order.value_or(p)) continue;
        Convolution problem;
        problem.length = problem.filter_length = length;
        problem.fold = Fold::plain;  // Eq. 2 counts one complex sequence of N points for each row
        questions.push_back({with_factors(problem, profile, p), profile});
      }
  return questions;
}

enum class Models { eq2, roofline, both };

constexpr std::array kModels = {
    Named{Models::eq2, "eq2", "Eq. 2"},
    Named{Models::roofline, "roofline", "over counted work"},
    Named{Models::both, "both", "both of them"},
};

struct Request {
  std::vector<std::string> tokens, profiles, measured;
  std::string sweep, json;
  std::optional<int> order;
  Concurrency concurrency;
  Models models = Models::both;
};

// False when only help was wanted.
bool read_request(std::span<const std::string> words, Console& console, Request& request) {
  std::string model;
  std::optional<double> overlap, warp_rate;
  CommandLine line("model", kDescription);
  line.option("case", request.tokens, "TOKEN", "a case; factors it does not name are chosen; may be repeated");
  line.option("sweep", request.sweep, "NAME", "figure4: N = 256 to 4M, orders 2 to 4; or one of danaus bench");
  line.option("model", model, "NAME", names_in(kModels) + " (default: both; figure4 is of Eq. 2 alone)");
  line.option("profile", request.profiles, "NAME",
              "hardware profile, by name or a .json file (default: all); may be repeated");
  line.option("order", request.order, "NUMBER", "Eq. 2: number of factors (default: the cheapest; in figure4: all)");
  line.option("overlap", overlap, "NUMBER",
              "roofline: 1 where nothing overlaps, large where all does (default: as fitted)");
  line.option("warp-rate", warp_rate, "NUMBER", "roofline: instructions a clock of one warp (default: as fitted)");
  line.option("measured", request.measured, "FILE",
              "rows of danaus bench: predict the kernels that they timed; may be repeated");
  line.option("json", request.json, "FILE",
              "result rows, one JSON object a line; - for stdout, in place of the tables");
  if (!line.parse(words, console)) return false;

  if (!model.empty()) request.models = parse_in(kModels, "model: model", model);
  if (!request.tokens.empty() + !request.sweep.empty() + !request.measured.empty() != 1)
    fail("model: one of --case, --sweep and --measured must be given");
  const bool figure4 = request.sweep == "figure4";
  if (!request.sweep.empty() && !figure4 && !find_bench_sweep(request.sweep))
    fail("model: sweep '", request.sweep, "', must be figure4 or a sweep of danaus bench");
  if (figure4 && request.models == Models::roofline) fail("model: figure4 has no kernels to count; leave --model out");
  if (figure4) request.models = Models::eq2;
  const auto& order = request.order;
  if (order && (*order < 1 || *order > 5)) fail("model: order=", *order, ", must be from 1 to 5");
  if (order && figure4 && std::find(std::begin(kOrders), std::end(kOrders), *order) == std::end(kOrders))
    fail("model: order=", *order, ", the sweep has orders 2, 3 and 4");
  if (overlap && !(*overlap >= 1)) fail("model: overlap=", *overlap, ", must be at least 1");
  if (warp_rate && !(*warp_rate > 0)) fail("model: warp-rate=", *warp_rate, ", must be positive");
  request.concurrency = {overlap.value_or(request.concurrency.overlap),
                         warp_rate.value_or(request.concurrency.warp_rate)};
  if (!request.measured.empty() && (overlap || warp_rate))
    fail("model: ", overlap ? "overlap" : "warp-rate",
         " with --measured: plots/make.py fits it to the rows; leave it out");
  if (!request.measured.empty() && request.profiles.size() > 1)
    fail("model: ", request.profiles.size(), " profiles, --measured takes that of the device that was measured");
  if (request.profiles.empty())
    request.profiles = request.measured.empty() ? profile_names() : std::vector<std::string>{"H200"};
  return true;
}

// The case with factors for Eq. 2.
Convolution factored(const std::string& word, std::optional<int> order, const HardwareProfile& profile) {
  const Convolution problem = parse_convolution(word);
  if (order && !problem.factors.empty() && static_cast<int>(problem.factors.size()) != *order)
    fail("model: order=", *order, ", but ", word, " has ", problem.factors.size(), " factors; leave one of them out");
  return problem.factors.empty() ? with_factors(problem, profile, order.value_or(0)) : problem;
}

}  // namespace

int run_model(std::span<const std::string> words, Console& console) {
  Request request;
  if (!read_request(words, console, request)) return kExitOk;
  std::vector<HardwareProfile> profiles;
  std::vector<std::string> names;
  for (const std::string& word : request.profiles) {
    profiles.push_back(load_profile(word));
    names.push_back(profiles.back().name);
  }
  if (!request.measured.empty())
    return predict_measured(request.measured, profiles.front(), load_profile(kPaper), request.json, console);

  const bool figure = request.sweep == "figure4";
  std::vector<std::string> tokens = request.tokens;
  if (const BenchSweep* sweep = find_bench_sweep(request.sweep))
    for (const Convolution& problem : sweep->cases()) tokens.push_back(token(problem));
  std::vector<Question> questions = figure ? figure4(profiles, request.order) : std::vector<Question>{};
  std::vector<KernelQuestion> kernels;
  for (const std::string& word : tokens)
    for (const HardwareProfile& profile : profiles) {
      if (request.models != Models::roofline) questions.push_back({factored(word, request.order, profile), profile});
      const Convolution problem = parse_convolution(word);
      if (request.models == Models::roofline) choose(problem, imitation(profile));  // says why there is no kernel
      if (request.models != Models::eq2 && has_kernel(problem, imitation(profile)))
        kernels.push_back({problem, profile});
    }

  std::vector<Prediction> predictions;
  std::set<std::string> identities;
  std::vector<Json> rows;
  for (const Question& question : questions) {
    predictions.push_back(predict_eq2(question.problem, question.profile));
    rows.push_back(row_of(question, predictions.back()));
  }
  for (const KernelQuestion& question : kernels) {
    const Device device = imitation(question.profile);
    const Counted counted = count(question.problem, device);
    rows.push_back(row_of(question, counted,
                          predict_roofline(kernel_work(counted, device), question.profile, request.concurrency)));
  }
  for (const Json& row : rows) identities.insert(identity(row));
  print_configuration(console, "model",
                      {{"predictions", std::to_string(rows.size())},
                       {"profiles", join(names)},
                       {"model", std::string(name_in(kModels, request.models))},
                       {"rows kept", request.json.empty() ? "no (--json FILE keeps them)" : request.json}});

  ResultFile results(console, request.json, "model", identities);
  for (const Json& row : rows)
    if (!results.standing(identity(row))) results.append(row);
  if (request.json == "-") return kExitOk;
  if (figure) {
    print_overview(console.out, questions, predictions);
    return kExitOk;
  }
  for (std::size_t i = 0; i < questions.size(); ++i) print_terms(console.out, questions[i], predictions[i]);
  for (std::size_t i = questions.size(); i < rows.size(); ++i) print_resources(console.out, rows[i]);
  print_summary(console.out, rows);
  return kExitOk;
}

}  // namespace danaus
