#include "kernels/cpu/family_work.hpp"
#include "kernels/families/correlate_short/family.hpp"

namespace danaus {
namespace {

class CorrelateShortWork final : public FamilyWork {
 public:
  int tuned_blocks(const KernelId& id) const override { return correlate_short::kLines.at(id.line).tuning.blocks; }
  WorkDivision division(const Launch& launch) const override {
    const auto a = arguments_of<correlate_short::Arguments>(launch);
    const correlate_short::Layout layout = layout_of<correlate_short::Family>(launch.kernel);
    if (layout.key.total) return of_elements(launch);
    if (layout.key.channels_last) return by_runs({ratio_up(a.channels, layout.tuning.warps), a.parts}, 1);
    return by_runs({a.parts, a.channels}, layout.tuning.warps);
  }
};

}  // namespace

const FamilyWork& work_of_correlate_short() {
  static const CorrelateShortWork kWork;
  return kWork;
}

}  // namespace danaus
