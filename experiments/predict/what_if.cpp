#include "experiments/predict/what_if.hpp"

#include <optional>
#include <set>

#include "experiments/count/imitation.hpp"
#include "experiments/count/kernel_work.hpp"
#include "experiments/operations/subject.hpp"
#include "kernels/plan/registry.hpp"
#include "model/roofline.hpp"
#include "reference/step/step.hpp"

namespace danaus {
namespace {

// Why no plan computes the case; nothing where one does.
std::optional<std::string> refusal(const Case& asked, const Device& device) {
  try {
    require_counted(asked, device);
    return std::nullopt;
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

int size_of(const Case& asked, const Device& device) {
  const int size = make_program(asked, device).variant->size;
  return size > 0 ? size : static_cast<int>(shape_of(asked).length);
}

}  // namespace

std::vector<Case> every_size() {
  std::set<int> sizes;
  for (const auto& v : variants())
    if (v->size > 0) sizes.insert(v->size);
  std::vector<Case> list;
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

std::vector<LimitedCase> limited_cases(const std::vector<Case>& cases, const HardwareProfile& profile) {
  std::vector<LimitedCase> list;
  for (const Case& asked : cases) {
    int size = 0;
    for (const DeviceClass& device : kDeviceClasses) {
      HardwareProfile changed = profile;
      changed.shared_memory_per_block.value = device.block_bytes / 1024;
      if (size == 0) size = size_of(asked, imitation(changed));  // or refuses, before any work
      list.push_back({asked, changed, size});
    }
  }
  return list;
}

Json describe(const LimitedCase& limited) {
  const auto& [asked, profile, size] = limited;
  const Shape shape = shape_of(asked);
  Json row = {{"case", asked.token()},
              {"profile", profile.name},
              {"dtype", name(asked.arrays().front().dtype)},
              {"n", size},
              {"batch", shape.batch},
              {"channels", shape.channels},
              {"shared_kb", static_cast<int>(profile.shared_memory_per_block.value)}};
  if (const Convolution* p = convolution_of(asked)) {
    row["mode"] = name(p->mode), row["gated"] = p->pregate || p->postgate;
  }
  return row;
}

Json what_if(const LimitedCase& limited) {
  const auto& [asked, profile, size] = limited;
  const Device device = imitation(profile);
  if (const auto reason = refusal(asked, device))
    return {{"kernel", nullptr},
            {"shared_bytes", nullptr},
            {"blocks_per_sm", nullptr},
            {"us", nullptr},
            {"reason", *reason}};
  const ProgramWork program = count_program(asked, device);
  const RooflinePrediction prediction = predict_launches(kernel_work(asked, program, device), profile);
  std::int64_t launches = 0;
  for (const LaunchWork& each : program.launches) launches += each.prepares ? 0 : each.times;
  return {{"kernel", program.variant},
          {"factors", program.factors},
          {"shared_bytes", program.shared_bytes},
          {"blocks_per_sm", program.concurrent / device.multiprocessors},
          {"transfer", device.has_tensor_copies() ? "tensor copies" : "threads"},
          {"launches", launches},
          {"us", prediction.total_us},
          {"limit", prediction.limit}};
}

}  // namespace danaus
