#include "kernels/cpu/family_work.hpp"
#include "kernels/families/chain_gradient/family.hpp"

namespace danaus {
namespace {

class ChainGradientWork final : public FamilyWork {
 public:
  int tuned_blocks(const KernelId& id) const override { return chain_gradient::kLines.at(id.line).tuning.blocks; }
  WorkDivision division(const Launch& launch) const override {
    const auto a = arguments_of<CorrelationArguments>(launch);
    return by_runs({a.parts, a.rows.channels}, launch.threads / 32);
  }
  void count(const Launch& launch, LaunchWork& work) const override {
    const bool pair = chain_gradient::Family::instances(launch.kernel.line).list[launch.kernel.instance].key.pair;
    work.counters = of_sums(launch, pair ? 2 : 1, launch.threads / 32);
    work.turns = items_of_sums(launch);
  }
};

}  // namespace

const FamilyWork& work_of_chain_gradient() {
  static const ChainGradientWork kWork;
  return kWork;
}

}  // namespace danaus
