#include "kernels/cpu/family_work.hpp"
#include "kernels/families/toeplitz/family.hpp"

namespace danaus {
namespace {

class ToeplitzWork final : public FamilyWork {
 public:
  int tuned_blocks(const KernelId& id) const override { return toeplitz::kLines.at(id.line).tuning.blocks; }
  WorkDivision division(const Launch& launch) const override {
    const auto a = arguments_of<toeplitz::Arguments>(launch);
    const toeplitz::Layout layout = layout_of<toeplitz::Family>(launch.kernel);
    if (layout.key.channels_last) return by_runs({ratio_up(a.channels, layout.streams), a.tiles, a.batch}, 1);
    return by_runs({a.tiles, a.batch, a.channels}, std::int64_t{layout.tuning.warps} * a.run);
  }
  std::int64_t uneven_blocks(const Launch& launch) const override {
    if (!toeplitz::kLines[launch.kernel.line].channels_last) return 1;
    const std::int64_t channels = arguments_of<toeplitz::Arguments>(launch).channels;
    const int of_block = layout_of<toeplitz::Family>(launch.kernel).streams;
    return channels % of_block == 0 ? 1 : ratio_up(channels, of_block);
  }
};

}  // namespace

const FamilyWork& work_of_toeplitz() {
  static const ToeplitzWork kWork;
  return kWork;
}

}  // namespace danaus
