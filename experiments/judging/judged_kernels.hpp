// What each cost model says of kernels that were measured.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/judging/measured_kernels.hpp"
#include "model/roofline.hpp"

namespace danaus {

struct JudgedModel {
  std::string_view name, title;
};

// Eq. 2 is of the kernel's own factors. With the paper's constants it is about another device: only its choice counts.
inline constexpr std::array kJudgedModels = {
    JudgedModel{"eq2_paper", "Eq. 2, the paper's A100 constants"},
    JudgedModel{"eq2_profile", "Eq. 2, this device's constants"},
    JudgedModel{"counted", "counted work"},
};

struct ModelTime {
  double us;
  std::string limit;  // what needs most of it
};

struct JudgedKernel {
  MeasuredKernel measured;
  bool held_out;  // took no part in fitting
  std::array<ModelTime, kJudgedModels.size()> models;
  std::vector<ResourceTime> resources;  // of counted work

  // Signed, relative.
  double error(std::size_t model) const { return models[model].us / measured.us - 1; }
};

struct JudgedKernels {
  std::vector<JudgedKernel> kernels;
  Concurrency concurrency;  // of counted work
  int fitted_to;            // kernels; 0: there were none, and it is the model's own
};

// What of the roofline is neither counted nor a property of the device is fitted to the kernels whose N is no power of
// two; the others took no part in it.
JudgedKernels judge(const std::vector<MeasuredKernel>& measured, const HardwareProfile& profile,
                    const HardwareProfile& paper);

}  // namespace danaus
