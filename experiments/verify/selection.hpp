// Which trials danaus verify makes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiments/verify/trials.hpp"

namespace danaus {

struct TrialSelection {
  std::vector<std::string> cases;     // tokens; empty: those of the sweep
  const TrialSweep* sweep = nullptr;  // without cases
  std::vector<std::string> methods;   // empty: all
  std::optional<DataKind> data;
  std::optional<FilterKind> filter;
  std::optional<Scaling> scaling;
  std::optional<double> scale;
  std::uint64_t seed = 0;
};

// The cases by each method that computes them, or a sweep without the trials that the rest rules out. Throws
// std::invalid_argument where nothing is left, or a token is none. A method that was asked for by name stays with cases
// that it does not compute: it is its own to say why.
std::vector<Trial> selected_trials(const TrialSelection& selection, std::span<const Method> methods);

// The methods that do not compute one of the cases, and why. None where methods were asked for by name.
std::vector<std::string> left_out(const TrialSelection& selection, std::span<const Method> methods);

}  // namespace danaus
