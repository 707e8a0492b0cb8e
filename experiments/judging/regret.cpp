#include "experiments/judging/regret.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "experiments/bench/statistics.hpp"

namespace danaus {
namespace {

template <class Key>
const JudgedKernel* least(const std::vector<const JudgedKernel*>& kernels, Key key) {
  return *std::min_element(kernels.begin(), kernels.end(),
                           [&](const JudgedKernel* a, const JudgedKernel* b) { return key(*a) < key(*b); });
}

Summary summary(std::size_t model, std::optional<Kind> kind, const std::vector<JudgedKernel>& kernels,
                const std::vector<FactorChoice>& choices) {
  Summary result{model, kind};
  std::vector<double> errors, absolute, regrets;
  for (const JudgedKernel& kernel : kernels) {
    if (kind && kind_of(kernel) != *kind) continue;
    ++result.rows;
    result.stale_rows += kernel.measured.stale;
    if (!kernel.held_out) continue;
    errors.push_back(kernel.error(model));
    absolute.push_back(std::abs(errors.back()));
  }
  for (const FactorChoice& choice : choices)
    if (choice.held_out && (!kind || choice.kind == *kind)) regrets.push_back(choice.regret(model));
  result.held_out_rows = static_cast<int>(errors.size());
  result.choices = static_cast<int>(regrets.size());
  if (!errors.empty())
    result.median = quantile(absolute, 0.5), result.p90 = quantile(absolute, 0.9), result.bias = quantile(errors, 0.5);
  if (!regrets.empty()) {
    result.mean_regret = std::accumulate(regrets.begin(), regrets.end(), 0.) / static_cast<double>(regrets.size());
    result.worst_regret = *std::max_element(regrets.begin(), regrets.end());
  }
  return result;
}

}  // namespace

Kind kind_of(const JudgedKernel& kernel) {
  const Convolution& p = kernel.measured.problem;
  return {p.dtype, p.mode, p.pregate || p.postgate};
}

std::vector<FactorChoice> factor_choices(const std::vector<JudgedKernel>& kernels) {
  std::map<std::string, std::vector<const JudgedKernel*>> cases;
  for (const JudgedKernel& kernel : kernels) {
    Convolution any_factors = kernel.measured.problem;
    any_factors.factors.clear();
    if (kernel.measured.asked_by_factors) cases[token(any_factors)].push_back(&kernel);
  }
  std::vector<FactorChoice> list;
  for (const auto& [asked, candidates] : cases) {
    if (candidates.size() < 2) continue;
    FactorChoice choice{kind_of(*candidates.front()),
                        candidates.front()->held_out,
                        least(candidates, [](const JudgedKernel& k) { return k.measured.us; }),
                        {}};
    for (std::size_t model = 0; model < kJudgedModels.size(); ++model)
      choice.chosen[model] = least(candidates, [=](const JudgedKernel& k) { return k.models[model].us; });
    list.push_back(choice);
  }
  std::sort(list.begin(), list.end(), [](const FactorChoice& a, const FactorChoice& b) {
    return std::tuple(a.kind, a.size()) < std::tuple(b.kind, b.size());
  });
  return list;
}

std::vector<Summary> summaries(const std::vector<JudgedKernel>& kernels, const std::vector<FactorChoice>& choices) {
  std::set<Kind> kinds;
  for (const JudgedKernel& kernel : kernels) kinds.insert(kind_of(kernel));
  std::vector<Summary> list;
  for (std::size_t model = 0; model < kJudgedModels.size(); ++model)
    list.push_back(summary(model, std::nullopt, kernels, choices));
  for (const Kind& kind : kinds)
    for (std::size_t model = 0; model < kJudgedModels.size(); ++model)
      list.push_back(summary(model, kind, kernels, choices));
  return list;
}

}  // namespace danaus
