#include "kernels/cpu/family_work.hpp"
#include "kernels/families/short_filter/family.hpp"

namespace danaus {
namespace {

class ShortFilterWork final : public FamilyWork {
 public:
  int tuned_blocks(const KernelId&) const override { return 1; }
};

}  // namespace

const FamilyWork& work_of_short_filter() {
  static const ShortFilterWork kWork;
  return kWork;
}

}  // namespace danaus
