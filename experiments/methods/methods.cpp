#include <algorithm>

#include "experiments/methods/execution.hpp"
#include "experiments/methods/method.hpp"
#include "experiments/operations/subject.hpp"
#include "kernels/cuda/machine.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/plan.hpp"
#include "reference/spelling.hpp"

namespace danaus {
namespace {

std::vector<Method> methods(bool (Method::*wanted)() const) {
  std::vector<Method> all;
  for (const auto file : {reference_methods, plan_methods, copy_methods, cufft_methods})
    std::ranges::copy_if(file(), std::back_inserter(all), wanted);
  return all;
}

}  // namespace

std::vector<std::string> names_of(std::span<const Method> methods) {
  std::vector<std::string> names;
  for (const Method& method : methods)
    if (names.empty() || names.back() != method.name) names.emplace_back(method.name);
  return names;
}

const std::vector<Method>& judged_methods() {
  static const std::vector<Method> kJudged = methods(&Method::is_judged);
  return kJudged;
}

const std::vector<Method>& timed_methods() {
  static const std::vector<Method> kTimed = methods(&Method::is_timed);
  return kTimed;
}

const Method& timed_method(std::string_view name, std::string_view what) {
  const auto found = std::ranges::find(timed_methods(), name, &Method::name);
  if (found == timed_methods().end()) fail(must_be_one_of(what, name, names_of(timed_methods())));
  return *found;
}

std::optional<std::string> obstacle(const Method& method, const Case& asked, const Device& device) try {
  method.by(method, asked, device);
  return std::nullopt;
} catch (const std::invalid_argument& refusal) {
  return refusal.what();
}

Case convolution_by(const Method& method, const Case& asked) try {
  return subject_of(asked, "bench")->as_convolution();
} catch (const std::invalid_argument& refusal) {
  fail(method.name, ": ", refusal.what());
}

bool computes(const Method& method, const Case& asked) {
  const auto* problem = asked.as<Convolution>();
  if (!method.machine) return problem;
  if (method.name == kOnGpu && cuda_device_count() == 0) return false;
  return problem ? has_kernel(*problem, method.machine()->device()) : has_plan(asked, method.machine());
}

Convolution planned_by(const Method& method, const Convolution& problem) {
  return method.machine ? planned(problem, choose(problem, method.machine()->device())) : planned(problem);
}

}  // namespace danaus
