#include "kernels/cpu/family_work.hpp"
#include "kernels/families/skip/family.hpp"

namespace danaus {
namespace {

class SkipWork final : public FamilyWork {
 public:
  int tuned_blocks(const KernelId& id) const override {
    return skip::Family::instances(id.line).list[id.instance].tuning.blocks;
  }
};

}  // namespace

const FamilyWork& work_of_skip() {
  static const SkipWork kWork;
  return kWork;
}

}  // namespace danaus
