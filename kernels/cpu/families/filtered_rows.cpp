#include "kernels/cpu/family_work.hpp"
#include "kernels/families/filtered_rows/family.hpp"

namespace danaus {
namespace {

class FilteredRowsWork final : public FamilyWork {
 public:
  int tuned_blocks(const KernelId& id) const override {
    return filtered_rows::Family::instances(id.line).list[id.instance].tuning.blocks;
  }
};

}  // namespace

const FamilyWork& work_of_filtered_rows() {
  static const FilteredRowsWork kWork;
  return kWork;
}

}  // namespace danaus
