#include <set>

#include "kernels/cpu/family_work.hpp"
#include "kernels/families/outer/family.hpp"

namespace danaus {
namespace {

class OuterWork final : public FamilyWork {
 public:
  int tuned_blocks(const KernelId& id) const override { return outer::kLines.at(id.line).tuning.blocks; }
  WorkDivision division(const Launch& launch) const override {
    const std::int64_t tiles = tiles_of(launch), at_once = std::min(tiles, launch.blocks);
    return by_runs({at_once, launch.blocks / at_once}, 1);
  }
  // A block has one tile of all items that it shares with others. Tiles beyond the rows' ends have less.
  host::Counters counters(const Launch& launch) const override {
    const auto given = arguments_of<outer::Arguments>(launch);
    const int item_rows = layout_of<outer::Family>(launch.kernel).item_rows;
    const std::int64_t of_channel = ratio_up(given.batch, item_rows), items = of_channel * given.channel_count;
    const std::int64_t more = more_items(given.aligned), tiles = tiles_of(launch);
    if (items <= more * (launch.blocks / tiles)) return of_sampled_blocks(launch);
    Launch part = launch;
    const auto run = [&](std::int64_t count, std::int64_t tile) {
      outer::Arguments a = given;
      a.batch = static_cast<int>(std::min<std::int64_t>(given.batch, count * item_rows));
      a.channel_count = static_cast<int>(std::min<std::int64_t>(given.channel_count, ratio_up(count, of_channel)));
      part.give(a);
      return std::pair(run_block(part, tile, tiles), ratio_up(a.batch, item_rows) * a.channel_count);
    };
    const std::set<std::int64_t> some = {0, tiles / 2, tiles - 1};
    host::Counters all;
    for (const std::int64_t tile : some) {
      const auto [few, few_count] = run(kFewItems, tile);
      const auto [many, count] = run(more, tile);
      const host::Counters item = divided(less(many, few), 1, count - few_count);
      all += plus(divided(less(few, divided(item, few_count, 1)), launch.blocks / tiles, 1), divided(item, items, 1));
    }
    return divided(all, tiles, std::ssize(some));
  }
  void count(const Launch& launch, LaunchWork& work) const override {
    work.counters = counters(launch);
    const auto a = arguments_of<outer::Arguments>(launch);
    const int item_rows = layout_of<outer::Family>(launch.kernel).item_rows;
    work.turns = launch.threads / 32. * a.channel_count * ratio_up(a.batch, item_rows) * tiles_of(launch);
  }
  double share_of_arrays(const Launch& launch) const override {  // of all channels some
    const auto a = arguments_of<outer::Arguments>(launch);
    return static_cast<double>(a.channel_count) / a.channels;
  }

 private:
  static std::int64_t tiles_of(const Launch& launch) {
    return arguments_of<outer::Arguments>(launch).columns / layout_of<outer::Family>(launch.kernel).tile_columns;
  }
};

}  // namespace

const FamilyWork& work_of_outer() {
  static const OuterWork kWork;
  return kWork;
}

}  // namespace danaus
