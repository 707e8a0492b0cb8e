#include "kernels/cpu/family_work.hpp"
#include "kernels/families/correlate_chain/family.hpp"

namespace danaus {
namespace {

class CorrelateChainWork final : public FamilyWork {
 public:
  int tuned_blocks(const KernelId& id) const override { return correlate_chain::kLines.at(id.line).tuning.blocks; }
  WorkDivision division(const Launch& launch) const override {
    const auto a = arguments_of<CorrelationArguments>(launch);
    return by_runs({a.parts, a.rows.channels}, launch.threads / 32);
  }
  void count(const Launch& launch, LaunchWork& work) const override {
    const bool pair = correlate_chain::Family::instances(launch.kernel.line).list[launch.kernel.instance].key.pair;
    work.counters = of_sums(launch, pair ? 2 : 1, launch.threads / 32);
    work.turns = items_of_sums(launch);
  }
};

}  // namespace

const FamilyWork& work_of_correlate_chain() {
  static const CorrelateChainWork kWork;
  return kWork;
}

}  // namespace danaus
