#include "experiments/verify/selection.hpp"

#include <algorithm>

#include "experiments/methods/execution.hpp"
#include "kernels/cuda/machine.hpp"
#include "kernels/plan/plan.hpp"
#include "reference/convolution/mask.hpp"
#include "reference/judge.hpp"

namespace danaus {
namespace {

std::vector<Trial> trials_of_cases(const TrialSelection& selection, std::span<const Method> methods) {
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
    for (const std::string& name : every_method ? names_of(methods) : selection.methods)
      for (const Method& method : methods)
        if (method.name == name && method.scaling.value_or(scaling) == scaling) {
          const Case asked = parse_case(token);
          if (every_method && !computes(method, asked)) continue;
          trials.push_back({asked, data, method, "cases given"});
        }
    if (trials.size() > before) continue;
    planned_factors(parse_case(token), Device());  // says why there is none
    fail("verify: no method of this build computes ", token);
  }
  return trials;
}

// Why it does not compute the case.
std::string obstacle(const Method& method, const Case& asked) {
  if (method.name == kOnGpu && cuda_device_count() == 0) return "there is no GPU";
  const auto* problem = asked.as<Convolution>();
  if (!problem && !method.machine) return "computes convolutions alone";
  try {
    if (problem)
      planned_by(method, *problem);
    else
      Plan(asked, method.machine(), marks_of(asked));
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "its kernel is not in this build (CMake option DANAUS_ALL)";
}

std::vector<Trial> trials_of_sweep(const TrialSelection& selection, std::span<const Method> methods) {
  const auto& names = selection.methods;
  std::vector<Trial> trials = selection.sweep->trials(methods);
  std::erase_if(trials, [&](const Trial& trial) {
    const bool wanted = names.empty() || std::find(names.begin(), names.end(), trial.method.name) != names.end();
    return !wanted || trial.data.data != selection.data.value_or(trial.data.data) ||
           trial.data.filter != selection.filter.value_or(trial.data.filter) ||
           trial.data.scale != selection.scale.value_or(trial.data.scale) ||
           (selection.scaling && trial.method.scaling != selection.scaling);
  });
  if (trials.empty()) fail("verify: no row of the sweep '", selection.sweep->name, "' has what the options ask for");
  return trials;
}

}  // namespace

std::vector<std::string> left_out(const TrialSelection& selection, std::span<const Method> methods) {
  std::vector<std::string> words;
  if (!selection.methods.empty()) return words;
  for (const std::string& token : selection.cases)
    for (const Method& method : methods) {
      const Case asked = parse_case(token);
      if (method.scaling == Scaling::one_side || computes(method, asked)) continue;
      const std::string line = text(method.name, ": ", obstacle(method, asked));
      if (std::ranges::find(words, line) == words.end()) words.push_back(line);
    }
  return words;
}

std::vector<Trial> selected_trials(const TrialSelection& selection, std::span<const Method> methods) {
  std::vector<Trial> trials =
      selection.sweep ? trials_of_sweep(selection, methods) : trials_of_cases(selection, methods);
  for (Trial& trial : trials) trial.data.seed = selection.seed;
  return trials;
}

}  // namespace danaus
