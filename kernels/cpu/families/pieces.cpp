#include "kernels/cpu/family_work.hpp"
#include "kernels/families/pieces/family.hpp"

namespace danaus {
namespace {

class PiecesWork final : public FamilyWork {
 public:
  WorkDivision division(const Launch& launch) const override {
    const auto a = arguments_of<pieces::Arguments>(launch);
    return in_turn({a.channels_now, a.rows_now}, launch.blocks);
  }
};

}  // namespace

const FamilyWork& work_of_pieces() {
  static const PiecesWork kWork;
  return kWork;
}

}  // namespace danaus
