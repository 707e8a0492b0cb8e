// danaus model: what the cost model predicts, term by term, and what limits it.
#include <algorithm>
#include <cmath>

#include "experiments/commands.hpp"
#include "experiments/files/record.hpp"
#include "experiments/program/terminal.hpp"
#include "model/cost.hpp"

namespace danaus {
namespace {

// One prediction to make.
struct Question {
  Problem problem;  // with factors
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
        Problem problem;
        problem.length = problem.filter_length = length;
        problem.fold = Fold::plain;  // Eq. 2 counts one complex sequence of N points for each row
        questions.push_back({with_factors(problem, profile, p), profile});
      }
  return questions;
}

}  // namespace

int run_model(std::span<const std::string> words, Console& console) {
  std::vector<std::string> tokens, profile_words;
  std::string sweep, json;
  std::optional<int> order;
  CommandLine line("model", "The time that Eq. 2 of Fu et al. 2023 predicts, term by term, and what takes most of it.");
  line.option("case", tokens, "TOKEN", "a case; factors it does not name are chosen; may be repeated");
  line.option("sweep", sweep, "NAME", "figure4: N = 256 to 4M, orders 2 to 4");
  line.option("profile", profile_words, "NAME",
              "hardware profile, by name or a .json file (default: all); may be repeated");
  line.option("order", order, "NUMBER", "number of factors (default: the cheapest; in a sweep: all)");
  line.option("json", json, "FILE", "result rows, one JSON object a line; - for stdout, in place of the tables");
  if (!line.parse(words, console)) return kExitOk;
  if (tokens.empty() == sweep.empty()) fail("model: either --case or --sweep must be given");
  if (!sweep.empty() && sweep != "figure4") fail("model: sweep '", sweep, "', must be figure4");
  if (order && (*order < 1 || *order > 5)) fail("model: order=", *order, ", must be from 1 to 5");
  if (order && !sweep.empty() && std::find(std::begin(kOrders), std::end(kOrders), *order) == std::end(kOrders))
    fail("model: order=", *order, ", the sweep has orders 2, 3 and 4");
  if (profile_words.empty()) profile_words = profile_names();

  std::vector<HardwareProfile> profiles;
  for (const std::string& word : profile_words) profiles.push_back(load_profile(word));
  std::vector<Question> questions = sweep.empty() ? std::vector<Question>{} : figure4(profiles, order);
  for (const std::string& word : tokens)
    for (const HardwareProfile& profile : profiles) {
      Problem problem = parse_problem(word);
      if (order && !problem.factors.empty() && static_cast<int>(problem.factors.size()) != *order)
        fail("model: order=", *order, ", but ", word, " has ", problem.factors.size(),
             " factors; leave one of them out");
      if (problem.factors.empty()) problem = with_factors(problem, profile, order.value_or(0));
      questions.push_back({problem, profile});
    }

  std::vector<Prediction> predictions;
  std::set<std::string> identities;
  std::vector<Json> rows;
  for (const Question& question : questions) {
    predictions.push_back(predict_eq2(question.problem, question.profile));
    rows.push_back(row_of(question, predictions.back()));
    identities.insert(identity(rows.back()));
  }
  std::vector<std::string> names;
  for (const HardwareProfile& profile : profiles) names.push_back(profile.name);
  print_configuration(console, "model",
                      {{"predictions", std::to_string(questions.size())},
                       {"profiles", join(names)},
                       {"model", "eq2"},
                       {"rows kept", json.empty() ? "no (--json FILE keeps them)" : json}});

  ResultFile results(console, json, "model", identities);
  for (const Json& row : rows)
    if (!results.standing(identity(row))) results.append(row);
  if (json == "-") return kExitOk;
  if (!sweep.empty()) {
    print_overview(console.out, questions, predictions);
  } else {
    for (std::size_t i = 0; i < questions.size(); ++i) print_terms(console.out, questions[i], predictions[i]);
  }
  return kExitOk;
}

}  // namespace danaus
