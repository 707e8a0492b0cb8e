#include "kernels/cpu/family_work.hpp"
#include "kernels/families/cluster/family.hpp"

namespace danaus {
namespace {

class ClusterWork final : public FamilyWork {
 public:
  int tuned_blocks(const KernelId& id) const override { return cluster::kLines.at(id.line).tuning.blocks; }
  WorkDivision division(const Launch& launch) const override { return of_convolution(launch, 1); }
  // A cluster has a part of all items.
  host::Counters counters(const Launch& launch) const override {
    const auto given = arguments_of<ConvolutionArguments>(launch);
    const int item_rows = key_of(launch).fold == Fold::pair ? 2 : 1;
    const std::int64_t clusters = launch.blocks / launch.cluster,
                       more = more_items(given.transfer != Transfer::element);
    const std::int64_t items = std::int64_t{given.division.items_of_channel} * given.channels;
    if (items <= more * clusters) return of_sampled_blocks(launch);
    Launch part = launch;
    const auto run = [&](std::int64_t count) {  // of one channel's items, as if that were all
      ConvolutionArguments a = given;
      a.division.items_of_channel = static_cast<int>(std::min<std::int64_t>(count, given.division.items_of_channel));
      a.channels = static_cast<int>(ratio_up(count, a.division.items_of_channel));
      a.batch = std::min(given.batch, a.division.items_of_channel * item_rows);
      part.give(a);
      return std::pair(run_block(part, 0, launch.cluster), std::int64_t{a.division.items_of_channel} * a.channels);
    };
    const auto [few, few_count] = run(kFewItems);
    const auto [many, count] = run(more);
    const host::Counters item = divided(less(many, few), 1, count - few_count);
    return plus(divided(less(few, divided(item, few_count, 1)), clusters, 1), divided(item, items, 1));
  }
  void count(const Launch& launch, LaunchWork& work) const override {
    work.counters = counters(launch);
    const auto a = arguments_of<ConvolutionArguments>(launch);
    // Spectra, which each item of a channel reads.
    work.l2_bytes += 4. * key_of(launch).size() * a.channels * (a.division.items_of_channel - 1);
    work.turns = launch.threads / 32. * launch.cluster * a.division.items_of_channel * a.channels;
  }

 private:
  static cluster::Key key_of(const Launch& launch) {
    return cluster::Family::instances(launch.kernel.line).list[launch.kernel.instance].key;
  }
};

}  // namespace

const FamilyWork& work_of_cluster() {
  static const ClusterWork kWork;
  return kWork;
}

}  // namespace danaus
