#include "kernels/cpu/family_work.hpp"
#include "kernels/families/direct/family.hpp"

namespace danaus {
namespace {

class DirectWork final : public FamilyWork {
 public:
  int tuned_blocks(const KernelId& id) const override { return direct::kLines.at(id.line).tuning.blocks; }
  WorkDivision division(const Launch& launch) const override {
    const auto a = arguments_of<direct::Arguments>(launch);
    const direct::Layout layout = layout_of<direct::Family>(launch.kernel);
    const int warps = layout.tuning.warps;
    if (layout.key.channels_last) return by_runs({ratio_up(a.channels, direct::kWarpChannels), a.parts}, warps);
    if (layout.key.correlates) return by_runs({a.channels, a.parts}, warps);
    return by_runs({a.runs, a.channels, a.batch}, warps);
  }
};

}  // namespace

const FamilyWork& work_of_direct() {
  static const DirectWork kWork;
  return kWork;
}

}  // namespace danaus
