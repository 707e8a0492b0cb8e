#include "experiments/judged_models.hpp"

#include "experiments/cli/table.hpp"
#include "experiments/count/imitation.hpp"
#include "experiments/io/rows_file.hpp"
#include "experiments/judging/regret.hpp"

namespace danaus {
namespace {

using enum Column::Align;

constexpr std::size_t kCounted = kJudgedModels.size() - 1;

template <class T>
Json known(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json fields_of(const Kind& kind) {
  return {{"dtype", name(kind.dtype)}, {"mode", name(kind.mode)}, {"gated", kind.gated}};
}

Json fields_of(const Concurrency& concurrency) {
  return {{"overlap", concurrency.overlap}, {"warp_rate", concurrency.warp_rate}};
}

Json row_of(const JudgedKernel& judged, const JudgedKernels& all, const std::string& profile) {
  const MeasuredKernel& m = judged.measured;
  Json models = Json::array();
  for (std::size_t i = 0; i < kJudgedModels.size(); ++i)
    models.push_back({{"name", kJudgedModels[i].name},
                      {"us", judged.models[i].us},
                      {"error", judged.error(i)},
                      {"limit", judged.models[i].limit}});
  Json resources = Json::object();
  for (const ResourceTime& resource : judged.resources) resources[resource.name + "_us"] = resource.us;
  models[kCounted]["resources"] = resources;
  models[kCounted].update(fields_of(all.concurrency));
  Json row = {{"kind", "prediction"}, {"case", m.token}, {"profile", profile}, {"kernel", m.variant->name}};
  row.update(fields_of(kind_of(judged)));
  row.update(Json{{"n", m.variant->size},
                  {"order", m.problem.factors.size()},
                  {"factors", m.problem.factors},
                  {"batch", m.problem.batch},
                  {"channels", m.problem.channels},
                  {"measured_us", m.us},
                  {"clock_mhz", known(m.clock_mhz)},
                  {"stale", m.stale},
                  {"notes", m.notes},
                  {"held_out", judged.held_out},
                  {"models", models}});
  return row;
}

Json row_of(const FactorChoice& choice, const std::string& profile) {
  Json models = Json::array();
  for (std::size_t i = 0; i < kJudgedModels.size(); ++i)
    models.push_back({{"name", kJudgedModels[i].name},
                      {"factors", choice.chosen[i]->measured.problem.factors},
                      {"us", choice.chosen[i]->measured.us},
                      {"regret", choice.regret(i)}});
  const Convolution& fastest = choice.fastest->measured.problem;
  Json row = {{"kind", "choice"}, {"profile", profile}};
  row.update(fields_of(choice.kind));
  row.update(Json{{"n", choice.size()},
                  {"batch", fastest.batch},
                  {"channels", fastest.channels},
                  {"held_out", choice.held_out},
                  {"clock", {{"factors", fastest.factors}, {"us", choice.fastest->measured.us}}},
                  {"models", models}});
  return row;
}

Json row_of(const Summary& s, const JudgedKernels& all, const std::string& profile) {
  Json row = {{"kind", "summary"}, {"model", kJudgedModels[s.model].name}, {"profile", profile}};
  if (s.kind) row.update(fields_of(*s.kind));
  row.update(Json{{"rows", s.rows},
                  {"held_out_rows", s.held_out_rows},
                  {"stale_rows", s.stale_rows},
                  {"median", known(s.median)},
                  {"p90", known(s.p90)},
                  {"bias", known(s.bias)},
                  {"choices", s.choices},
                  {"mean_regret", known(s.mean_regret)},
                  {"worst_regret", known(s.worst_regret)}});
  if (s.model == kCounted) row.update(fields_of(all.concurrency)), row["fitted_to"] = all.fitted_to;
  return row;
}

std::string percent(std::optional<double> share, int decimals, bool is_signed = false) {
  if (!share) return "-";
  std::string text = fixed(100 * *share, decimals);
  if (is_signed && *share > 0) text.insert(text.begin(), '+');
  return text;
}

std::string remarks(const JudgedKernel& judged) {
  std::string words = judged.held_out ? "judging" : "fitting";
  if (judged.measured.stale) words += ", stale";
  for (const std::string& note : judged.measured.notes) words += ", " + note;
  return words;
}

void print_predictions(std::ostream& out, const std::vector<JudgedKernel>& kernels) {
  std::vector<Column> columns = {{"case", 0, left}, {"factors", 0, left}, {"measured, us", 0, right}};
  for (const JudgedModel& model : kJudgedModels)
    columns.push_back({std::string(model.title) + ", us", 0, right}), columns.push_back({"%", 0, right});
  columns.push_back({"most time in", 0, left}), columns.push_back({"took part in", 0, left});
  std::vector<std::vector<std::string>> cells;
  for (const JudgedKernel& judged : kernels) {
    cells.push_back({judged.measured.token, join(judged.measured.problem.factors), fixed(judged.measured.us, 1)});
    for (std::size_t i = 0; i < kJudgedModels.size(); ++i) {
      cells.back().push_back(fixed(judged.models[i].us, 1));
      cells.back().push_back(percent(judged.error(i), 0, true));
    }
    cells.back().push_back(judged.models[kCounted].limit), cells.back().push_back(remarks(judged));
  }
  print_table(out, columns, cells);
}

std::string words_of(const Kind& kind) {
  return text(name(kind.dtype), ' ', name(kind.mode), kind.gated ? " gated" : "");
}

void print_choices(std::ostream& out, const std::vector<FactorChoice>& choices) {
  std::vector<Column> columns = {
      {"choice for", 0, left}, {"N", 0, right}, {"fastest by the clock", 0, left}, {"us", 0, right}};
  for (const JudgedModel& model : kJudgedModels)
    columns.push_back({std::string(model.title), 0, left}), columns.push_back({"regret, %", 0, right});
  std::vector<std::vector<std::string>> cells;
  for (const FactorChoice& choice : choices) {
    cells.push_back({words_of(choice.kind), std::to_string(choice.size()),
                     join(choice.fastest->measured.problem.factors), fixed(choice.fastest->measured.us, 1)});
    for (std::size_t i = 0; i < kJudgedModels.size(); ++i) {
      cells.back().push_back(join(choice.chosen[i]->measured.problem.factors));
      cells.back().push_back(percent(choice.regret(i), 1));
    }
  }
  print_table(out, columns, cells);
}

void print_summaries(std::ostream& out, const std::vector<Summary>& summaries) {
  std::vector<std::vector<std::string>> cells;
  for (const Summary& s : summaries)
    cells.push_back({s.kind ? words_of(*s.kind) : "all", std::string(kJudgedModels[s.model].title),
                     std::to_string(s.held_out_rows), percent(s.median, 1), percent(s.p90, 1), percent(s.bias, 1, true),
                     std::to_string(s.choices), percent(s.mean_regret, 1), percent(s.worst_regret, 1)});
  print_table(out,
              {{"kernels", 0, left},
               {"model", 0, left},
               {"judged by", 0, right},
               {"median error, %", 0, right},
               {"90th percentile", 0, right},
               {"bias", 0, right},
               {"choices", 0, right},
               {"mean regret, %", 0, right},
               {"worst", 0, right}},
              cells);
}

}  // namespace

int judge_models(const std::vector<std::string>& paths, const HardwareProfile& profile, const HardwareProfile& paper,
                 const std::string& json, Console& console) {
  RowsFile file(console, json);
  const MeasuredKernels measured = read_measured_kernels(paths, imitation(profile));
  print_configuration(
      console, "model",
      {{"measured", text(measured.kernels.size(), " kernels on ", measured.device, ", in ", join(paths))},
       {"profile", profile.name},
       {"fitted to", "kernels whose N is no power of two; judged by the others"},
       {"rows kept", json.empty() ? "no (--json FILE keeps them)" : json}});
  if (measured.without_kernel > 0)
    console.err << "notice: " << measured.without_kernel
                << " rows are of kernels that this build has not (CMake option DANAUS_STUDY), left out\n";

  const JudgedKernels judged = judge(measured.kernels, profile, paper);
  const std::vector<FactorChoice> choices = factor_choices(judged.kernels);
  const std::vector<Summary> sums = summaries(judged.kernels, choices);
  for (const JudgedKernel& kernel : judged.kernels) file.append(row_of(kernel, judged, profile.name));
  for (const FactorChoice& choice : choices) file.append(row_of(choice, profile.name));
  for (const Summary& summary : sums) file.append(row_of(summary, judged, profile.name));
  file.commit();
  if (json == "-") return kExitOk;

  print_predictions(console.out, judged.kernels);
  console.out << '\n';
  if (!choices.empty()) print_choices(console.out, choices), console.out << '\n';
  print_summaries(console.out, sums);
  console.out << "\ncounted work: overlap " << fixed(judged.concurrency.overlap, 2) << ", warp rate "
              << fixed(judged.concurrency.warp_rate, 3)
              << (judged.fitted_to > 0 ? text(", fitted to ", judged.fitted_to, " kernels") : ", the model's own")
              << '\n';
  return kExitOk;
}

}  // namespace danaus
