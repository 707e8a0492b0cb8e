// What is verified by default and in the sweeps: lists of trials, built here and nowhere else.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiments/cli/environment.hpp"
#include "experiments/methods/method.hpp"
#include "reference/convolution/convolution.hpp"
#include "reference/convolution/data.hpp"

namespace danaus {

// One method on one case with one kind of data.
struct Trial {
  Case asked;
  DataSpec data;  // without the recording itself
  Method method;
  std::string group;  // what the trial is there to vary
};

// A named list of trials.
struct TrialSweep {
  std::string_view name;
  std::string_view question;
  std::vector<Trial> (*trials)(std::span<const Method> methods);
  bool judges;  // a row beyond its bound is a failure; otherwise it is what the sweep is there to show
};

// The first one is the default.
std::span<const TrialSweep> trial_sweeps();

// The fields of a result row that say what was tried: case, method, data, scaling, device, order.
Json describe(const Trial& trial);

// The command that repeats the trial.
std::string repeat_command(const Trial& trial);

}  // namespace danaus
