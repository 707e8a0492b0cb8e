#include "kernels/cpu/family_work.hpp"
#include "kernels/families/state/family.hpp"

namespace danaus {
namespace {

class StateWork final : public FamilyWork {
 public:
  int tuned_blocks(const KernelId& id) const override { return state::kLines.at(id.line).tuning.blocks; }
  WorkDivision division(const Launch& launch) const override {
    const auto a = arguments_of<state::Arguments>(launch);
    const state::Layout layout = layout_of<state::Family>(launch.kernel);
    if (!state::is_product(layout.key.work)) return by_runs({launch.blocks}, 1);
    const std::int64_t of_channel = launch.blocks / a.channels;
    if (!layout.key.group) return by_runs({of_channel, a.channels}, 1);
    const std::int64_t tiles = ratio_up(a.batch, layout.block_rows);
    return by_runs({tiles, of_channel / tiles, a.channels}, 1);
  }
  void count(const Launch& launch, LaunchWork& work) const override {
    if (!state::is_product(layout_of<state::Family>(launch.kernel).key.work)) return FamilyWork::count(launch, work);
    work.counters = of_stages(launch);
    work.turns =
        launch.threads / 32 * static_cast<double>(launch.blocks * stages_of(arguments_of<state::Arguments>(launch)));
  }

 private:
  static std::int64_t stages_of(const state::Arguments& a) {
    return ratio_up(std::min<std::int64_t>(a.part_length, a.length), a.layout.tuning.stage);
  }
  // A block has so many rows, or parts of rows, and takes them stage by stage; the last one may be a part of one.
  static host::Counters of_stages(const Launch& launch) {
    const auto given = arguments_of<state::Arguments>(launch);
    const std::int64_t stage = given.layout.tuning.stage, few = 2, more = few + more_items(given.aligned);
    const std::int64_t length = std::min<std::int64_t>(given.part_length, given.length), stages = stages_of(given);
    if (stages <= more) return of_sampled_blocks(launch);
    const auto rest = [&](std::int64_t samples) { return (samples - 1) % stage + 1; };  // of the last stage
    const std::int64_t last_part = given.length - (given.parts - 1) * given.part_length;
    Launch part = launch;
    const auto run = [&](std::int64_t count) {
      state::Arguments a = given;
      const std::int64_t whole = (count - 1) * stage;
      a.part_length = whole + rest(length);
      a.length = static_cast<int>((given.parts - 1) * a.part_length + whole + std::min(rest(length), rest(last_part)));
      part.give(a);
      return of_sampled_blocks(part);
    };
    const host::Counters some = run(few);
    return plus(some, divided(less(run(more), some), stages - few, more - few));
  }
};

}  // namespace

const FamilyWork& work_of_state() {
  static const StateWork kWork;
  return kWork;
}

}  // namespace danaus
