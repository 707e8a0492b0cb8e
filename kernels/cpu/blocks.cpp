#include "kernels/cpu/blocks.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "kernels/cpu/family_work.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/executor/operations.hpp"
#include "kernels/plan/arrays.hpp"
#include "kernels/plan/registry.hpp"

namespace danaus {

const Variant* variant_of(const KernelId& id) {
  for (const auto& list : {variants(), sparse_variants(), filtered_variants()})
    for (const auto& v : list)
      if (v->family == id.family && v->line == id.line && v->instance == id.instance) return v.get();
  return nullptr;
}

std::int64_t blocks_at_once(const KernelId& id, const Device& device, int threads, int shared_bytes) {
  const int with_room = (device.block_bytes + kReservedBytes) / (shared_bytes + kReservedBytes);
  const Variant* const variant = variant_of(id);
  const int tuned = variant ? variant->blocks_per_sm : family_work(id.family).tuned_blocks(id);
  const int of_multiprocessor = std::min({tuned, with_room, FamilyWork::kThreadsOfMultiprocessor / threads});
  return std::int64_t{std::max(of_multiprocessor, 1)} * device.multiprocessors;
}

WorkDivision work_division(const Launch& launch) { return family_work(launch.kernel.family).division(launch); }

BlockClass class_of(const WorkDivision& division, std::int64_t block) {
  const WorkDivision::Tasks tasks = division.tasks_of(block);
  BlockClass kinds = {tasks.count};
  if (tasks.count == 0) return kinds;
  for (std::int64_t task : {tasks.first, tasks.first + (tasks.count - 1) * tasks.step})
    for (const std::int64_t digit : division.digits) {
      const std::int64_t value = task % digit;
      kinds.push_back(value == 0 ? 0 : value < digit - 1 ? 1 : 2);
      task /= digit;
    }
  return kinds;
}

std::vector<std::int64_t> differing_blocks(const Launch& launch) {
  const WorkDivision division = work_division(launch);
  std::map<BlockClass, std::int64_t> classes;
  for (const std::int64_t block : all_blocks(launch)) classes.emplace(class_of(division, block), block);
  std::vector<std::int64_t> blocks;
  for (const auto& [of_class, block] : classes) blocks.push_back(block);
  const std::int64_t last = launch.blocks - launch.cluster;
  if (std::ranges::find(blocks, last) == blocks.end()) blocks.push_back(last);
  std::ranges::sort(blocks);
  return blocks;
}

std::vector<std::int64_t> all_blocks(const Launch& launch) {
  std::vector<std::int64_t> blocks;
  for (std::int64_t block = 0; block < launch.blocks; block += launch.cluster) blocks.push_back(block);
  return blocks;
}

host::Counters run_blocks(const Launch& launch, std::span<const std::int64_t> blocks, const host::Launch& how,
                          const std::function<void()>& after) {
  host::Executor executor;
  for (int i = 0; i < launch.region_count; ++i) {
    const Region& region = launch.regions[i];
    executor.declare(region.name, region.data, static_cast<std::size_t>(region.bytes), region.written,
                     !region.constant);
  }
  const HostKernel kernel = host_kernel(launch.kernel);
  if (!kernel) throw std::logic_error("executor: a kernel that this build has not");
  host::Launch one = how;
  one.threads = launch.threads, one.shared_bytes = launch.shared_bytes;
  one.blocks = one.cluster = launch.cluster;
  one.grid_blocks = static_cast<int>(launch.blocks);
  host::Counters counters;
  for (const std::int64_t block : blocks) {
    const std::int64_t first = block / launch.cluster * launch.cluster;
    one.seed = how.seed + static_cast<std::uint64_t>(first);
    one.first_block = static_cast<int>(first);
    one.description = text(how.description.empty() ? std::string(launch.description) : how.description, ", block ",
                           block, " of ", launch.blocks);
    counters += executor.run(one, [&] { kernel(launch.arguments.data()); });
    one.continues = true;
    if (after) after();
  }
  return counters;
}

}  // namespace danaus
