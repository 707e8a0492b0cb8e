#include "experiments/predict/what_if.hpp"

#include <set>

#include "experiments/count/imitation.hpp"
#include "experiments/count/kernel_work.hpp"
#include "kernels/plan/registry.hpp"
#include "model/roofline.hpp"

namespace danaus {
namespace {

// Why no kernel computes the case.
std::string refusal(const Convolution& problem, const Device& device) {
  try {
    return "this build has not the kernel " + choose(problem, device).name;
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

}  // namespace

std::vector<Convolution> every_size() {
  std::set<int> sizes;
  for (const auto& v : variants())
    if (v->size > 0) sizes.insert(v->size);
  std::vector<Convolution> list;
  for (const bool gated : {false, true})
    for (const Mode mode : {Mode::circular, Mode::causal}) {
      if (gated && mode == Mode::causal) continue;
      for (int size : sizes) {
        Convolution problem;
        problem.mode = mode, problem.pregate = problem.postgate = gated;
        problem.batch = 64, problem.channels = 768, problem.length = problem.filter_length = size;
        list.push_back(problem);
      }
    }
  return list;
}

std::vector<LimitedCase> limited_cases(const std::vector<Convolution>& cases, const HardwareProfile& profile) {
  std::vector<LimitedCase> list;
  for (const Convolution& problem : cases) {
    int size = 0;
    for (const DeviceClass& device : kDeviceClasses) {
      HardwareProfile changed = profile;
      changed.shared_memory_per_block.value = device.block_bytes / 1024;
      if (size == 0) size = choose(problem, imitation(changed)).size;  // or refuses, before any work
      list.push_back({problem, changed, size});
    }
  }
  return list;
}

Json describe(const LimitedCase& limited) {
  const auto& [problem, profile, size] = limited;
  return {{"case", token(problem)},
          {"profile", profile.name},
          {"dtype", name(problem.dtype)},
          {"mode", name(problem.mode)},
          {"gated", problem.pregate || problem.postgate},
          {"n", size},
          {"batch", problem.batch},
          {"channels", problem.channels},
          {"shared_kb", static_cast<int>(profile.shared_memory_per_block.value)}};
}

Json what_if(const LimitedCase& limited) {
  const auto& [problem, profile, size] = limited;
  const Device device = imitation(profile);
  if (!is_counted(problem, device))
    return {{"kernel", nullptr},
            {"shared_bytes", nullptr},
            {"blocks_per_sm", nullptr},
            {"us", nullptr},
            {"reason", refusal(problem, device)}};
  const Variant& variant = choose(problem, device);
  const RooflinePrediction prediction = predict_roofline(kernel_work(count(problem, device), device), profile);
  return {{"kernel", variant.name},
          {"factors", variant.factors},
          {"shared_bytes", variant.shared_bytes},
          {"blocks_per_sm", concurrent_blocks(variant, device) / device.multiprocessors},
          {"transfer", device.has_tensor_copies() ? "tensor copies" : "threads"},
          {"us", prediction.total_us},
          {"limit", prediction.limit}};
}

}  // namespace danaus
