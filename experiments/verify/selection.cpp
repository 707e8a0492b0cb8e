#include "experiments/verify/selection.hpp"

#include <algorithm>

#include "experiments/verify/execution.hpp"
#include "kernels/cuda/machine.hpp"
#include "kernels/plan/plan.hpp"
#include "reference/convolution/mask.hpp"
#include "reference/judge.hpp"

namespace danaus {
namespace {

std::vector<Trial> trials_of_cases(const TrialSelection& selection, std::span<const Candidate> candidates) {
  DataSpec data;
  data.data = selection.data.value_or(data.data);
  data.filter = selection.filter.value_or(data.filter);
  data.scale = selection.scale.value_or(data.scale);
  const Scaling scaling = selection.scaling.value_or(Scaling::unitary);
  const bool every_method = selection.methods.empty();
  std::vector<Trial> trials;
  for (const std::string& token : selection.cases) {
    const std::size_t before = trials.size();
    judge_of(parse_case(token));  // or says that its outputs are not judged
    for (const std::string& method : every_method ? methods_of(candidates) : selection.methods)
      for (const Candidate& candidate : candidates)
        if (candidate.name == method && candidate.scaling.value_or(scaling) == scaling) {
          const Case asked = parse_case(token);
          if (every_method && !computes(candidate, asked)) continue;
          trials.push_back({asked, data, candidate, "cases given"});
        }
    if (trials.size() > before) continue;
    planned_factors(parse_case(token), Device());  // says why there is none
    fail("verify: no method of this build computes ", token);
  }
  return trials;
}

// Why it does not compute the case.
std::string obstacle(const Candidate& candidate, const Case& asked) {
  if (candidate.name == kOnGpu && cuda_device_count() == 0) return "there is no GPU";
  const auto* problem = asked.as<Convolution>();
  if (!problem && !candidate.machine) return "computes convolutions alone";
  try {
    if (problem)
      candidate.planned(*problem);
    else
      Plan(asked, candidate.machine(), marks_of(asked));
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "its kernel is not in this build (CMake option DANAUS_ALL)";
}

std::vector<Trial> trials_of_sweep(const TrialSelection& selection, std::span<const Candidate> candidates) {
  const auto& methods = selection.methods;
  std::vector<Trial> trials = selection.sweep->trials(candidates);
  std::erase_if(trials, [&](const Trial& trial) {
    const bool wanted =
        methods.empty() || std::find(methods.begin(), methods.end(), trial.candidate.name) != methods.end();
    return !wanted || trial.data.data != selection.data.value_or(trial.data.data) ||
           trial.data.filter != selection.filter.value_or(trial.data.filter) ||
           trial.data.scale != selection.scale.value_or(trial.data.scale) ||
           (selection.scaling && trial.candidate.scaling != selection.scaling);
  });
  if (trials.empty()) fail("verify: no row of the sweep '", selection.sweep->name, "' has what the options ask for");
  return trials;
}

}  // namespace

std::vector<std::string> methods_of(std::span<const Candidate> candidates) {
  std::vector<std::string> methods;
  for (const Candidate& candidate : candidates)
    if (methods.empty() || methods.back() != candidate.name) methods.emplace_back(candidate.name);
  return methods;
}

std::vector<std::string> left_out(const TrialSelection& selection, std::span<const Candidate> candidates) {
  std::vector<std::string> words;
  if (!selection.methods.empty()) return words;
  for (const std::string& token : selection.cases)
    for (const Candidate& candidate : candidates) {
      const Case asked = parse_case(token);
      if (candidate.scaling == Scaling::one_side || computes(candidate, asked)) continue;
      const std::string line = text(candidate.name, ": ", obstacle(candidate, asked));
      if (std::ranges::find(words, line) == words.end()) words.push_back(line);
    }
  return words;
}

std::vector<Trial> selected_trials(const TrialSelection& selection, std::span<const Candidate> candidates) {
  std::vector<Trial> trials =
      selection.sweep ? trials_of_sweep(selection, candidates) : trials_of_cases(selection, candidates);
  for (Trial& trial : trials) trial.data.seed = selection.seed;
  return trials;
}

}  // namespace danaus
