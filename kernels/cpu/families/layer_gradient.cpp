#include "kernels/cpu/family_work.hpp"
#include "kernels/families/layer_gradient/family.hpp"

namespace danaus {
namespace {

class LayerGradientWork final : public FamilyWork {
 public:
  int tuned_blocks(const KernelId& id) const override { return layer_gradient::kLines.at(id.line).tuning.blocks; }
  WorkDivision division(const Launch& launch) const override {
    if (layout_of<layer_gradient::Family>(launch.kernel).key.stage == layer_gradient::Stage::total)
      return of_elements(launch);
    const auto a = arguments_of<layer_gradient::Arguments>(launch);
    return by_runs({ratio_up(a.inputs, layer_gradient::kChannels), ratio_up(a.outputs, layer_gradient::kChannels),
                    a.frequency_parts, a.item_parts},
                   1);
  }
  bool is_phased() const override { return true; }
  double waits() const override { return kWaitsOfLayer; }
};

}  // namespace

const FamilyWork& work_of_layer_gradient() {
  static const LayerGradientWork kWork;
  return kWork;
}

}  // namespace danaus
