#include "experiments/count/footprint.hpp"

#include "experiments/count/imitation.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/plan.hpp"

namespace danaus {
namespace {

// The unit of the paper's tables: its numbers are of all that is allocated, u and k included.
constexpr double kPaperUnit = 1000. * 1024 * 1024;

}  // namespace

std::vector<Convolution> footprint_cases() {
  std::vector<Convolution> cases;
  for (bool gated : {false, true})
    for (std::int64_t length = 256; length <= 32768; length *= 2) {
      Convolution problem;
      problem.batch = 64, problem.channels = 768;
      problem.length = problem.filter_length = length;
      problem.pregate = problem.postgate = gated;
      cases.push_back(problem);
    }
  return cases;
}

Json footprint(const Convolution& p, const HardwareProfile& profile) {
  const Device device = imitation(profile);
  const PlanBytes plan = plan_bytes(p, device);
  const std::int64_t rows = bytes(p.dtype) * p.batch * p.channels * p.length;
  const std::int64_t k = static_cast<std::int64_t>(sizeof(float)) * p.channels * p.filter_length;
  const std::int64_t gates = rows * (p.pregate + p.postgate);
  const std::int64_t additional = rows + plan.spectrum + plan.tables, total = additional + rows + k + gates;
  return {{"case", token(p)},
          {"profile", profile.name},
          {"dtype", name(p.dtype)},
          {"mode", name(p.mode)},
          {"gated", p.pregate || p.postgate},
          {"n", choose(p, device).size},
          {"batch", p.batch},
          {"channels", p.channels},
          {"u_bytes", rows},
          {"k_bytes", k},
          {"gates_bytes", gates},
          {"y_bytes", rows},
          {"spectrum_bytes", plan.spectrum},
          {"tables_bytes", plan.tables},
          {"total_bytes", total},
          {"additional_bytes", additional},
          {"paper_unit", static_cast<double>(total) / kPaperUnit}};
}

}  // namespace danaus
