#include "experiments/predict/predictions.hpp"

#include "experiments/count/counted.hpp"
#include "experiments/count/imitation.hpp"
#include "experiments/count/kernel_work.hpp"
#include "model/cost.hpp"

namespace danaus {
namespace {

Json predicted_by_eq2(const PredictedCase& predicted) {
  const Convolution& problem = *predicted.asked.as<Convolution>();
  const Prediction prediction = predict_eq2(problem, predicted.profile);
  Json terms = Json::array();
  for (const Term& term : prediction.terms)
    terms.push_back({{"factor", term.factor},
                     {"compute_us", term.compute_us},
                     {"memory_us", term.memory_us},
                     {"unit", term.unit},
                     {"memory", term.memory},
                     {"reason", term.reason}});
  return {{"order", problem.factors.size()},
          {"total_us", prediction.total_us},
          {"ps_per_token_bh", prediction.ps_per_token_bh},
          {"limit", prediction.limit},
          {"terms", terms},
          {"notes", prediction.notes}};
}

// Each launch by itself, and how often.
Json launches_of(const PredictedCase& predicted, const ProgramWork& program, const Device& device) {
  Json launches = Json::array();
  for (const bool prepares : {true, false}) {
    const std::vector<RepeatedWork> works = kernel_work(predicted.counted(), program, device, prepares);
    auto work = works.begin();
    for (const LaunchWork& launch : program.launches) {
      if (launch.prepares != prepares) continue;
      const RooflinePrediction one = predict_roofline((work++)->work, predicted.profile, predicted.concurrency);
      launches.push_back({{"kernel", launch.kernel},
                          {"part", prepares ? "prepare" : "execute"},
                          {"times", launch.times},
                          {"us", one.total_us},
                          {"limit", one.limit}});
    }
  }
  return launches;
}

Json predicted_by_roofline(const PredictedCase& predicted) {
  const Device device = imitation(predicted.profile);
  const ProgramWork program = count_program(predicted.counted(), device);
  const auto predict = [&](bool prepares) {
    return predict_launches(kernel_work(predicted.counted(), program, device, prepares), predicted.profile,
                            predicted.concurrency);
  };
  const RooflinePrediction prediction = predict(false);
  Json resources = Json::array();
  for (const ResourceTime& resource : prediction.resources)
    resources.push_back({{"name", resource.name}, {"us", resource.us}, {"what", resource.what}});
  Json row = {{"variant", program.variant}, {"total_us", prediction.total_us},   {"limit", prediction.limit},
              {"waits", prediction.waits},  {"launch_us", prediction.launch_us}, {"resources", resources},
              {"notes", prediction.notes}};
  if (std::ranges::any_of(program.launches, &LaunchWork::prepares)) row["prepare_us"] = predict(true).total_us;
  if (is_one_launch(predicted.counted(), device)) return row;
  row["launches"] = launches_of(predicted, program, device);
  return row;
}

}  // namespace

PredictedCase for_eq2(const std::string& token, std::optional<int> order, const HardwareProfile& profile) {
  const Case asked = parse_case(token);
  if (!asked.as<Convolution>()) fail("model: Eq. 2 is of convolutions, ", token, " is none; --model roofline takes it");
  const Convolution problem = *asked.as<Convolution>();
  if (order && !problem.factors.empty() && static_cast<int>(problem.factors.size()) != *order)
    fail("model: order=", *order, ", but ", token, " has ", problem.factors.size(), " factors; leave one of them out");
  return {CostModel::eq2, problem.factors.empty() ? with_factors(problem, profile, order.value_or(0)) : problem,
          profile};
}

std::optional<PredictedCase> for_roofline(const std::string& token, const HardwareProfile& profile,
                                          const Concurrency& concurrency) {
  const Case asked = parse_case(token);
  if (!is_counted(asked, imitation(profile))) return std::nullopt;
  return PredictedCase{CostModel::roofline, asked, profile, concurrency};
}

std::vector<PredictedCase> by_other_ways(const PredictedCase& predicted) {
  const Device device = imitation(predicted.profile);
  std::vector<PredictedCase> ways;
  for (const Method& way : timed_methods()) {
    if (!way.runs_plan || way.name == kPlan || obstacle(way, predicted.asked, device)) continue;
    PredictedCase other = predicted;
    other.way = &way, other.by = way.by(way, predicted.asked, device);
    if (is_counted(*other.by, device)) ways.push_back(other);
  }
  return ways;
}

std::vector<PredictedCase> figure4_cases(const std::vector<HardwareProfile>& profiles, std::optional<int> order) {
  std::vector<PredictedCase> cases;
  for (const HardwareProfile& profile : profiles)
    for (int p : kOrders)
      for (std::int64_t length = 256; length <= 4 << 20; length *= 2) {
        if (p != order.value_or(p)) continue;
        Convolution problem;
        problem.length = problem.filter_length = length;
        problem.fold = Fold::plain;  // Eq. 2 counts one complex sequence of N points for each row
        cases.push_back({CostModel::eq2, with_factors(problem, profile, p), profile});
      }
  return cases;
}

Json describe(const PredictedCase& predicted) {
  const bool eq2 = predicted.model == CostModel::eq2;
  Json asked = {
      {"case", predicted.asked.token()}, {"profile", predicted.profile.name}, {"model", eq2 ? "eq2" : "roofline"}};
  if (predicted.way) asked["method"] = predicted.way->name;
  if (!eq2) {
    asked["overlap"] = predicted.concurrency.overlap, asked["warp_rate"] = predicted.concurrency.warp_rate;
    asked["wait_us"] = predicted.concurrency.wait_us;
  }
  return asked;
}

Json prediction(const PredictedCase& predicted) {
  return predicted.model == CostModel::eq2 ? predicted_by_eq2(predicted) : predicted_by_roofline(predicted);
}

}  // namespace danaus
