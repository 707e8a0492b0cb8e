#include "experiments/explore/exploration.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "reference/convolution/mask.hpp"

namespace danaus {
namespace {

// Fields that a row has where they are known.
void add_known(Json& row, const char* field, const std::optional<double>& value) {
  if (value) row[field] = *value;
}

// The probe with what the case computes masks by.
Convolution probe_of(const ExploredCase& subject, const Convolution& laid_out) {
  Convolution probe = subject.probe;
  probe.fold = laid_out.fold, probe.fft_size = laid_out.fft_size, probe.factors = laid_out.factors;
  return probe;
}

// Means over 64 bins of half spectra, or of fewer frequencies as many bins: what a figure needs of them.
Json in_bins(const std::vector<double>& values) {
  const std::size_t bins = std::min<std::size_t>(64, values.size());
  Json list = Json::array();
  for (std::size_t bin = 0; bin < bins; ++bin) {
    const std::size_t first = bin * values.size() / bins, end = (bin + 1) * values.size() / bins;
    double sum = 0;
    for (std::size_t i = first; i < end; ++i) sum += values[i];
    list.push_back(std::stod(text(sum / static_cast<double>(end - first))));  // six digits
  }
  return list;
}

}  // namespace

Exploration::Exploration(const ExploredCase& subject, const HardwareProfile& profile,
                         std::map<std::string, double> measured)
    : subject_(subject),
      problem_(laid_out(subject.problem, profile)),
      profile_(profile),
      measured_(std::move(measured)),
      effect_(probe_of(subject_, problem_), subject_.k, subject_.inputs),
      savings_(problem_, profile_) {}

std::optional<double> Exploration::measured(const Convolution& problem) const {
  const auto found = measured_.find(token(problem));
  return found == measured_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> Exploration::measured_dense() const {
  Convolution open = subject_.problem;  // the dense kernel has factors of its own
  open.fold = {}, open.fft_size = 0, open.factors = {};
  const std::optional<double> as_asked = measured(subject_.problem);
  return as_asked ? as_asked : measured(open);
}

Json Exploration::describe(const Pattern& pattern) const {
  return {{"case", token(pattern.problem)},
          {"pattern", name_in(kPatternKinds, pattern.kind)},
          {"data", data_of(subject_)},
          {"seed", subject_.seed},
          {"profile", profile_.name}};
}

Json Exploration::explored(const Pattern& pattern) const {
  const Convolution& problem = pattern.problem;
  const std::vector<double> weights = real_mask_weights(problem);
  const std::vector<LiveStage> stages = live_blocks_of(problem);
  const Expense &dense = savings_.dense(), left = savings_.of(problem);
  Json of_stages = Json::array(), errors = Json::array();
  for (const LiveStage& stage : stages)
    of_stages.push_back({{"factor", stage.factor},
                         {"blocks", stage.blocks.size()},
                         {"live", stage.live},
                         {"dead_digits", stage.dead_digits.size()}});
  double worst = 0;
  const std::vector<double> of_inputs = effect_.errors(weights);
  for (std::size_t i = 0; i < of_inputs.size(); ++i) {
    worst = std::max(worst, of_inputs[i]);
    errors.push_back(error_field(subject_.inputs[i].name, of_inputs[i]));
  }
  Json row = {{"mask", token(problem.mask)},
              {"dense_case", token(problem_)},
              {"n", problem_.fft_size},
              {"factors", problem_.factors},
              {"zeros", sparsity(problem)},
              {"stages", of_stages},
              {"energy_kept", effect_.energy_kept(weights)},
              {"energy_bins", in_bins(effect_.filter_energy())},
              {"kept_bins", in_bins(weights)},
              {"errors", errors},
              {"predicted_by", savings_.model()},
              {"skips", left.skips},
              {"dense_us", dense.us},
              {"us", left.us},
              {"limit", left.limit}};
  if (worst > 0) row["snr_db"] = snr_db(worst);
  add_known(row, "dense_matrix_instructions", dense.matrix_instructions);
  add_known(row, "matrix_instructions", left.matrix_instructions);
  add_known(row, "dense_bytes", dense.bytes);
  add_known(row, "bytes", left.bytes);
  add_known(row, "measured_dense_us", measured_dense());
  add_known(row, "measured_us", measured(problem));
  return row;
}

Json error_field(const std::string& input, double relative_l2) {
  Json field = {{"input", input}, {"relative_l2", relative_l2}};
  if (relative_l2 > 0) field["snr_db"] = snr_db(relative_l2);
  return field;
}

double snr_of(const Json& of) { return of.value("snr_db", std::numeric_limits<double>::infinity()); }

std::vector<Json> pareto_front(std::vector<Json> rows) {
  const auto us = [](const Json& row) { return row.at("us").get<double>(); };
  std::ranges::stable_sort(
      rows, [&](const Json& a, const Json& b) { return us(a) != us(b) ? us(a) < us(b) : snr_of(a) > snr_of(b); });
  std::vector<Json> front;
  for (const Json& row : rows)
    if (front.empty() || snr_of(row) > snr_of(front.back())) front.push_back(row);
  return front;
}

std::vector<Json> thinned(const std::vector<Json>& front) {
  std::vector<Json> some;
  for (const Json& row : front)
    if (some.empty() || snr_of(row) >= snr_of(some.back()) + 1) some.push_back(row);
  return some;
}

const Json& best_above(const std::vector<Json>& rows, double snr_db) {
  const auto rank = [](const Json& row) {
    return std::tuple(-row.at("us").get<double>(), row.at("zeros").get<double>(), snr_of(row));
  };
  const Json* best = nullptr;
  double most = -std::numeric_limits<double>::infinity();
  for (const Json& row : rows) {
    const double snr = snr_of(row);
    most = std::max(most, snr);
    if (snr < snr_db) continue;
    if (!best || rank(row) > rank(*best)) best = &row;
  }
  if (!best)
    fail("explore: none of ", rows.size(), " patterns has an SNR of ", snr_db, " dB; the highest is ",
         std::round(10 * most) / 10, " dB");
  return *best;
}

bool saves_time(const Json& row) { return row.at("us").get<double>() < row.at("dense_us").get<double>(); }

}  // namespace danaus
