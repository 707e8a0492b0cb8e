#include "kernels/cpu/family_work.hpp"
#include "kernels/families/spectrum/family.hpp"

namespace danaus {
namespace {

class SpectrumWork final : public FamilyWork {
 public:
  int tuned_blocks(const KernelId& id) const override { return spectrum::kLines.at(id.line).tuning.blocks; }
  WorkDivision division(const Launch& launch) const override {
    return of_filter(launch, arguments_of<spectrum::Arguments>(launch).channels);
  }
  bool is_phased() const override { return true; }
};

}  // namespace

const FamilyWork& work_of_spectrum() {
  static const SpectrumWork kWork;
  return kWork;
}

}  // namespace danaus
