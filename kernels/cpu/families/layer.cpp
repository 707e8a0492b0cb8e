#include "kernels/cpu/family_work.hpp"
#include "kernels/families/layer/family.hpp"

namespace danaus {
namespace {

class LayerWork final : public FamilyWork {
 public:
  int tuned_blocks(const KernelId& id) const override { return layer::kLines.at(id.line).tuning.blocks; }
  WorkDivision division(const Launch& launch) const override {
    const layer::Layout layout = layout_of<layer::Family>(launch.kernel);
    const auto a = arguments_of<layer::Arguments>(launch);
    if (layout.key.stage == layer::Stage::arrange) return of_elements(launch);
    const std::int64_t neighbours = a.neighbours, others = a.units / neighbours;
    if (layout.key.stage == layer::Stage::filter) return in_turn({neighbours, others}, launch.blocks);
    const std::int64_t frequencies = a.frequency_slices;
    if (layout.key.product == layer::Product::each)
      return in_turn({neighbours, frequencies, others / frequencies}, launch.blocks);
    return in_turn({frequencies, neighbours / frequencies, others}, launch.blocks);
  }
  std::int64_t units(const Launch& launch) const override {
    if (layer::kLines[launch.kernel.line].stage == layer::Stage::arrange) return launch.blocks;
    return std::max<std::int64_t>(arguments_of<layer::Arguments>(launch).units, launch.blocks);
  }
  // Some units stand for all; what a block has besides is what it has without any.
  host::Counters counters(const Launch& launch) const override {
    const std::int64_t all_units = units(launch);
    Launch some = launch;
    some.blocks = all_units;
    const host::Counters all = of_sampled_blocks(some);
    if (all_units == launch.blocks) return all;
    auto none = arguments_of<layer::Arguments>(launch);
    none.units = 0;
    some.give(none);
    const host::Counters besides = run_block(some, 0, launch.blocks);
    return plus(less(all, divided(besides, all_units, 1)), divided(besides, launch.blocks, 1));
  }
  bool is_phased() const override { return true; }
  double waits() const override { return kWaitsOfLayer; }
  bool brings_ahead(const Launch& launch) const override {
    return arguments_of<layer::Arguments>(launch).places.staged_at >= 0;
  }
  bool reads_prepared_for_each_unit() const override { return true; }
};

}  // namespace

const FamilyWork& work_of_layer() {
  static const LayerWork kWork;
  return kWork;
}

}  // namespace danaus
