#include "kernels/cpu/family_work.hpp"
#include "kernels/families/rescaled/family.hpp"

namespace danaus {
namespace {

class RescaledWork final : public FamilyWork {
 public:
  int tuned_blocks(const KernelId&) const override { return rescaled::Family::instances(0).list[0].tuning.blocks; }
  // Of ordinary data, of which nothing is computed once more: memory that is only counted has no energy.
  host::Counters counters(const Launch& launch) const override {
    auto a = arguments_of<rescaled::Arguments>(launch);
    a.least_energy = a.least_share = 0;
    Launch ordinary = launch;
    ordinary.give(a);
    return of_sampled_blocks(ordinary);
  }
  void count(const Launch& launch, LaunchWork& work) const override {
    FamilyWork::count(launch, work);
    work.hbm_bytes = 0;  // energies, which L2 has
  }
};

}  // namespace

const FamilyWork& work_of_rescaled() {
  static const RescaledWork kWork;
  return kWork;
}

}  // namespace danaus
