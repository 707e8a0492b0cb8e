#include "kernels/cpu/family_work.hpp"
#include "kernels/families/exchange/family.hpp"
#include "kernels/families/variant.hpp"

namespace danaus {
namespace {

class ExchangeWork final : public FamilyWork {
 public:
  WorkDivision division(const Launch& launch) const override {
    const Variant* const variant = variant_of(launch.kernel);
    if (!variant) return FamilyWork::division(launch);
    return of_convolution(launch, variant->share({1, 1, Transfer::tensor, 1}).workers_of_block);
  }
};

}  // namespace

const FamilyWork& work_of_exchange() {
  static const ExchangeWork kWork;
  return kWork;
}

}  // namespace danaus
