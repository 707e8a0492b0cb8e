#include "kernels/cpu/family_work.hpp"
#include "kernels/families/exchange_gradient/family.hpp"

namespace danaus {
namespace {

class ExchangeGradientWork final : public FamilyWork {
 public:
  int tuned_blocks(const KernelId& id) const override { return exchange_gradient::kLines.at(id.line).tuning.blocks; }
  WorkDivision division(const Launch& launch) const override {
    const auto a = arguments_of<CorrelationArguments>(launch);
    return by_runs({launch.cluster, a.parts, a.rows.channels}, 1);
  }
  void count(const Launch& launch, LaunchWork& work) const override {
    const bool pair = exchange_gradient::Family::instances(launch.kernel.line).list[launch.kernel.instance].key.pair;
    work.counters = of_sums(launch, pair ? 2 : 1, 1);
    work.turns = launch.threads / 32. * launch.cluster * items_of_sums(launch);
  }
};

}  // namespace

const FamilyWork& work_of_exchange_gradient() {
  static const ExchangeGradientWork kWork;
  return kWork;
}

}  // namespace danaus
