#include "kernels/cpu/family_work.hpp"
#include "kernels/families/mask/family.hpp"

namespace danaus {
namespace {

class MaskWork final : public FamilyWork {
 public:
  int tuned_blocks(const KernelId& id) const override {
    return mask::Family::instances(id.line).list[id.instance].tuning.blocks;
  }
};

}  // namespace

const FamilyWork& work_of_mask() {
  static const MaskWork kWork;
  return kWork;
}

}  // namespace danaus
