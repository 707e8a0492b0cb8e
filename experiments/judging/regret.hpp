// What the models' errors come to, and what their choices of factors cost.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "experiments/judging/judged_kernels.hpp"

namespace danaus {

// Kernels of one type, mode and gating.
struct Kind {
  Dtype dtype;
  Mode mode;
  bool gated;
  auto operator<=>(const Kind&) const = default;
};
Kind kind_of(const JudgedKernel& kernel);

// A case that was measured with different factors.
struct FactorChoice {
  Kind kind;
  bool held_out;
  const JudgedKernel* fastest;                                   // by the clock
  std::array<const JudgedKernel*, kJudgedModels.size()> chosen;  // by each model
  int size() const { return fastest->measured.variant->size; }
  // By how much the chosen one is slower than the fastest, relative.
  double regret(std::size_t model) const { return chosen[model]->measured.us / fastest->measured.us - 1; }
};

// Of the kernels that were asked for by their factors; they point into `kernels`.
std::vector<FactorChoice> factor_choices(const std::vector<JudgedKernel>& kernels);

// Of one model, over kernels and choices that took no part in fitting.
struct Summary {
  std::size_t model;
  std::optional<Kind> kind;  // nothing: all kernels
  int rows = 0, held_out_rows = 0, stale_rows = 0, choices = 0;
  // Of the absolute error; nothing without rows, and likewise below.
  std::optional<double> median = {}, p90 = {};
  std::optional<double> bias = {};  // median of the signed error
  std::optional<double> mean_regret = {}, worst_regret = {};
};

// Each model over all, then over each kind.
std::vector<Summary> summaries(const std::vector<JudgedKernel>& kernels, const std::vector<FactorChoice>& choices);

}  // namespace danaus
