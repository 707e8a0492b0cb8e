#include "kernels/cpu/family_work.hpp"
#include "kernels/families/correlate_mix/family.hpp"

namespace danaus {
namespace {

class CorrelateMixWork final : public FamilyWork {
 public:
  int tuned_blocks(const KernelId& id) const override { return correlate_mix::kLines.at(id.line).tuning.blocks; }
  WorkDivision division(const Launch& launch) const override {
    if (layout_of<correlate_mix::Family>(launch.kernel).key.stage == correlate_mix::Stage::total)
      return of_elements(launch);
    const auto a = arguments_of<correlate_mix::Arguments>(launch);
    return by_runs({ratio_up(a.inputs, correlate_mix::kChannels), ratio_up(a.outputs, correlate_mix::kChannels),
                    a.frequency_parts, a.item_parts},
                   1);
  }
  bool is_phased() const override { return true; }
  double waits() const override { return kWaitsOfLayer; }
};

}  // namespace

const FamilyWork& work_of_correlate_mix() {
  static const CorrelateMixWork kWork;
  return kWork;
}

}  // namespace danaus
