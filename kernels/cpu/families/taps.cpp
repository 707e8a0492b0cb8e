#include "kernels/cpu/family_work.hpp"
#include "kernels/families/taps/family.hpp"

namespace danaus {
namespace {

class TapsWork final : public FamilyWork {
 public:
  int tuned_blocks(const KernelId& id) const override { return spectrum::kLines.at(id.line).tuning.blocks; }
  WorkDivision division(const Launch& launch) const override {
    return of_filter(launch, arguments_of<taps::Arguments>(launch).channels);
  }
  bool is_phased() const override { return true; }
};

}  // namespace

const FamilyWork& work_of_taps() {
  static const TapsWork kWork;
  return kWork;
}

}  // namespace danaus
