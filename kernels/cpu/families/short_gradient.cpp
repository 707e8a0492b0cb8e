#include "kernels/cpu/family_work.hpp"
#include "kernels/families/short_gradient/family.hpp"

namespace danaus {
namespace {

class ShortGradientWork final : public FamilyWork {
 public:
  int tuned_blocks(const KernelId& id) const override { return short_gradient::kLines.at(id.line).tuning.blocks; }
  WorkDivision division(const Launch& launch) const override {
    const auto a = arguments_of<short_gradient::Arguments>(launch);
    const short_gradient::Layout layout = layout_of<short_gradient::Family>(launch.kernel);
    if (layout.key.total) return of_elements(launch);
    if (layout.key.channels_last) return by_runs({ratio_up(a.channels, layout.tuning.warps), a.parts}, 1);
    return by_runs({a.parts, a.channels}, layout.tuning.warps);
  }
};

}  // namespace

const FamilyWork& work_of_short_gradient() {
  static const ShortGradientWork kWork;
  return kWork;
}

}  // namespace danaus
