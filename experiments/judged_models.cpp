#include "experiments/judged_models.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "experiments/counting/imitation.hpp"
#include "experiments/counting/kernel_work.hpp"
#include "experiments/files/record.hpp"
#include "experiments/program/terminal.hpp"
#include "model/cost.hpp"

namespace danaus {
namespace {

struct Measured {
  Problem problem;
  double us;
};

std::vector<Measured> read_rows(const std::string& path, const Device& device) {
  std::ifstream file(path);
  if (!file) fail("model: cannot read ", path);
  std::vector<Measured> rows;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const Json row = Json::parse(line, nullptr, false);
    if (!row.is_object() || row.value("schema", Json()) != kSchema || row.value("kind", "") != "bench")
      fail("model: ", path, ", line ", number, ": is no row of danaus bench");
    const Json us = row.value(Json::json_pointer("/time_us/burst_cold/median"), Json());
    const bool passed = row.value(Json::json_pointer("/verify/status"), "") == "passed";
    if (row.value("method", "") != "kernel" || !passed || !us.is_number()) continue;
    const Problem problem = parse_problem(row.at("case").get<std::string>());
    if (has_kernel(problem, device)) rows.push_back({problem, us});
  }
  if (rows.size() < 2)
    fail("model: ", path, " has ", rows.size(), " kernels that passed and were timed, must be at least 2");
  return rows;
}

struct Judged {
  const char* model;
  std::vector<double> us;
};

std::string percent(double error) {
  std::string text = fixed(100 * error, 0);
  if (error > 0) text.insert(text.begin(), '+');
  return text;
}

// Between neighbours, as quartiles() is.
double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  return std::lerp(values[below], values[std::min(below + 1, values.size() - 1)], place - static_cast<double>(below));
}

}  // namespace

int judge_models(const std::string& path, const HardwareProfile& profile, const HardwareProfile& paper,
                 Console& console) {
  const Device device = imitation(profile);
  const std::vector<Measured> rows = read_rows(path, device);
  print_configuration(console, "model",
                      {{"measured", std::to_string(rows.size()) + " rows of " + path},
                       {"profile", profile.name},
                       {"fitted to", "every other row; judged by the rest"}});

  Judged in_paper{"Eq. 2, the paper's constants", {}}, eq2{"Eq. 2", {}}, roofline{"roofline", {}};
  std::vector<RooflinePrediction> predictions, fitted_to;
  std::vector<double> times;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto of = [&](const HardwareProfile& constants) {
      Problem plain = rows[i].problem;
      plain.factors.clear();  // Eq. 2 has none of the kernels' radices
      return predict_eq2(with_factors(plain, constants), constants).total_us;
    };
    in_paper.us.push_back(of(paper)), eq2.us.push_back(of(profile));
    predictions.push_back(predict_roofline(kernel_work(count(rows[i].problem, device), device), profile));
    if (i % 2 == 0) fitted_to.push_back(predictions.back()), times.push_back(rows[i].us);
  }
  const double overlap = fit_overlap(fitted_to, times);
  for (const RooflinePrediction& prediction : predictions) roofline.us.push_back(total_us(prediction, overlap));

  using enum Column::Align;
  const std::vector<const Judged*> models = {&in_paper, &eq2, &roofline};
  std::vector<Column> columns = {{"case", 0, left}, {"measured, us", 0, right}};
  for (const Judged* judged : models)
    columns.push_back({std::string(judged->model) + ", us", 0, right}), columns.push_back({"%", 0, right});
  columns.push_back({"most time in", 0, left}), columns.push_back({"took part in", 0, left});
  std::vector<std::vector<std::string>> cells;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    cells.push_back({token(rows[i].problem), fixed(rows[i].us, 1)});
    for (const Judged* judged : models) {
      cells.back().push_back(fixed(judged->us[i], 1));
      cells.back().push_back(percent(judged->us[i] / rows[i].us - 1));
    }
    cells.back().push_back(predictions[i].limit), cells.back().push_back(i % 2 == 0 ? "fitting" : "judging");
  }
  print_table(console.out, columns, cells);

  console.out << "\noverlap " << fixed(overlap, 2) << ", fitted to " << times.size() << " rows. Absolute error of the "
              << rows.size() - times.size() << " others:\n";
  for (const Judged* judged : models) {
    std::vector<double> errors;
    for (std::size_t i = 1; i < rows.size(); i += 2) errors.push_back(std::abs(judged->us[i] / rows[i].us - 1));
    console.out << "  " << judged->model << ": median " << fixed(100 * quantile(errors, 0.5), 1)
                << " %, 90th percentile " << fixed(100 * quantile(errors, 0.9), 1) << " %\n";
  }
  return kExitOk;
}

}  // namespace danaus
