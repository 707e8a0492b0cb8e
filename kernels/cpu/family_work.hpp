// What the executor and counted work know of a family's launches: a file of kernels/cpu/families/, where it is not what
// stands here.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "kernels/cpu/blocks.hpp"
#include "kernels/cpu/program_work.hpp"
#include "kernels/families/kernel_id.hpp"
#include "kernels/plan/arrays.hpp"

namespace danaus {

class FamilyWork {
 public:
  virtual ~FamilyWork() = default;

  // Blocks on a multiprocessor at once, as the kernel is tuned; here as many as have room.
  virtual int tuned_blocks(const KernelId&) const { return kThreadsOfMultiprocessor; }
  // Here items of a fused convolution, or numbers of an array.
  virtual WorkDivision division(const Launch& launch) const;

  // Counters, turns and bytes of a launch; what else is known of it is there.
  virtual void count(const Launch& launch, LaunchWork& work) const;
  virtual host::Counters counters(const Launch& launch) const;
  // What blocks take in turn; here blocks themselves.
  virtual std::int64_t units(const Launch& launch) const { return launch.blocks; }
  // Blocks that stand side by side over channels, where the last of them has fewer than the others; else 1.
  virtual std::int64_t uneven_blocks(const Launch&) const { return 1; }

  // Whether its blocks go from phase to phase, with a barrier between: then what one phase needs of a resource is no
  // other's to use meanwhile, but in the few other blocks of a multiprocessor.
  virtual bool is_phased() const { return false; }
  // Whether what a block computes next is on its way meanwhile.
  virtual bool brings_ahead(const Launch&) const { return false; }
  // Times that a block waits for its first unit, with nothing to do meanwhile.
  virtual double waits() const { return 0; }
  // The share of its arrays that a launch moves.
  virtual double share_of_arrays(const Launch&) const { return 1; }
  virtual bool reads_prepared_for_each_unit() const { return false; }

  static constexpr int kThreadsOfMultiprocessor = 2048;
};

const FamilyWork& family_work(std::string_view family);

// Of a launch whose instance is of the family.
template <class Family>
auto layout_of(const KernelId& id) {
  const auto made = Family::instances(id.line).list[id.instance];
  return typename Family::Layout(made.key, made.tuning);
}

// Tasks of these digits: of so many each, one after the other; or of every so many-th.
WorkDivision by_runs(std::vector<std::int64_t> digits, std::int64_t tasks_of_block);
WorkDivision in_turn(std::vector<std::int64_t> digits, std::int64_t blocks);
// Numbers of an array.
WorkDivision of_elements(const Launch& launch);
// Each block, or each warp of one, has some of the items of a channel, or of several.
WorkDivision of_convolution(const Launch& launch, int workers_of_block);
// Of a filter's transform: channels, or as many parts of each.
WorkDivision of_filter(const Launch& launch, std::int64_t channels);

// Times that a block of a layer waits for its first unit: for tables, points and weights, at three barriers and for its
// stores. One item takes 3.5 to 4 us more than its work on an H200, 128 points or 256, 32 channels or 128.
inline constexpr double kWaitsOfLayer = 7;

host::Counters divided(host::Counters counters, std::int64_t times, std::int64_t by);
host::Counters less(host::Counters a, const host::Counters& b);
host::Counters plus(host::Counters a, const host::Counters& b);

// One block of a launch of so many; of clusters, all of the block's.
host::Counters run_block(Launch launch, std::int64_t block, std::int64_t of_blocks);
// Some blocks stand for those between them, the last for itself.
host::Counters of_sampled_blocks(const Launch& launch);

// Of blocks with few items, and with more: what a block has besides, and what an item takes. Where rows do not begin at
// 16 bytes they differ by their alignments, eight in turn.
inline constexpr std::int64_t kFewItems = 1;
constexpr std::int64_t more_items(bool aligned) { return aligned ? 3 : 9; }

// Of sums over the batch: each of so many workers of a block, which with its cluster is one or has one in each warp,
// has as many items of a channel.
host::Counters of_sums(const Launch& launch, int item_rows, int workers_of_block);
double items_of_sums(const Launch& launch);

}  // namespace danaus
