#include "kernels/cpu/family_work.hpp"
#include "kernels/families/decode/family.hpp"

namespace danaus {
namespace {

class DecodeWork final : public FamilyWork {
 public:
};

}  // namespace

const FamilyWork& work_of_decode() {
  static const DecodeWork kWork;
  return kWork;
}

}  // namespace danaus
