#include "kernels/cpu/blocks.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <stdexcept>

#include "kernels/cpu/kernels.hpp"
#include "kernels/executor/operations.hpp"
#include "kernels/families/cluster/family.hpp"
#include "kernels/families/correlate_chain/family.hpp"
#include "kernels/families/correlate_exchange/family.hpp"
#include "kernels/families/correlate_mix/family.hpp"
#include "kernels/families/correlate_short/family.hpp"
#include "kernels/families/direct/family.hpp"
#include "kernels/families/mask/family.hpp"
#include "kernels/families/mix/family.hpp"
#include "kernels/families/outer/family.hpp"
#include "kernels/families/pieces/family.hpp"
#include "kernels/families/rescaled/family.hpp"
#include "kernels/families/short_filter/family.hpp"
#include "kernels/families/spectrum/family.hpp"
#include "kernels/families/state/family.hpp"
#include "kernels/families/taps/family.hpp"
#include "kernels/families/toeplitz/family.hpp"
#include "kernels/plan/arrays.hpp"
#include "kernels/plan/registry.hpp"

namespace danaus {
namespace {

constexpr int kThreadsOfSm = 2048;

// Blocks on a multiprocessor at once, as the kernel is tuned; of families that are not known here as many as have room.
int tuned_blocks(const KernelId& id) {
  if (const Variant* variant = variant_of(id)) return variant->blocks_per_sm;
  const auto of = [&](const auto& lines) { return lines.at(id.line).tuning.blocks; };
  if (id.family == outer::Family::name) return of(outer::kLines);
  if (id.family == cluster::Family::name) return of(cluster::kLines);
  if (id.family == correlate_chain::Family::name) return of(correlate_chain::kLines);
  if (id.family == correlate_exchange::Family::name) return of(correlate_exchange::kLines);
  if (id.family == mix::Family::name) return of(mix::kLines);
  if (id.family == direct::Family::name) return of(direct::kLines);
  if (id.family == toeplitz::Family::name) return of(toeplitz::kLines);
  if (id.family == correlate_short::Family::name) return of(correlate_short::kLines);
  if (id.family == short_filter::Family::name) return 1;
  if (id.family == rescaled::Family::name) return rescaled::Family::instances(0).list[0].tuning.blocks;
  if (id.family == mask::Family::name) return mask::Family::instances(id.line).list[id.instance].tuning.blocks;
  if (id.family == state::Family::name) return of(state::kLines);
  if (id.family == spectrum::Family::name || id.family == taps::Family::name) return of(spectrum::kLines);
  return kThreadsOfSm;
}

template <class Family>
auto layout_of(const KernelId& id) {
  const auto made = Family::instances(id.line).list[id.instance];
  return typename Family::Layout(made.key, made.tuning);
}

std::int64_t product_of(const std::vector<std::int64_t>& digits) {
  return std::accumulate(digits.begin(), digits.end(), std::int64_t{1}, std::multiplies());
}

// Of so many tasks each, one after the other.
WorkDivision by_runs(std::vector<std::int64_t> digits, std::int64_t tasks_of_block) {
  const std::int64_t all = product_of(digits);
  return {std::move(digits), [=](std::int64_t block) {
            const std::int64_t first = block * tasks_of_block;
            return WorkDivision::Tasks{first, std::clamp<std::int64_t>(all - first, 0, tasks_of_block)};
          }};
}
// Of every so many-th.
WorkDivision in_turn(std::vector<std::int64_t> digits, std::int64_t blocks) {
  const std::int64_t all = product_of(digits);
  return {std::move(digits), [=](std::int64_t block) {
            return WorkDivision::Tasks{block, ratio_up(std::max<std::int64_t>(all - block, 0), blocks), blocks};
          }};
}

// Numbers of an array.
WorkDivision of_elements(const Launch& launch) {
  WorkDivision division = by_runs({launch.blocks}, 1);
  division.of_elements = true;
  return division;
}

// Each block, or each warp of one, has some of the items of a channel, or of several.
WorkDivision of_convolution(const Launch& launch, int workers_of_block) {
  const auto a = arguments_of<ConvolutionArguments>(launch);
  const int workers = static_cast<int>(launch.blocks / launch.cluster * workers_of_block);
  return {{a.division.items_of_channel, a.channels}, [=](std::int64_t block) {
            const int first_worker = static_cast<int>(block / launch.cluster) * workers_of_block;
            const ItemRange first = a.division.of(first_worker, workers, a.channels);
            const ItemRange last = a.division.of(first_worker + workers_of_block - 1, workers, a.channels);
            return WorkDivision::Tasks{first.first, last.first + last.count - first.first};
          }};
}

WorkDivision of_layer(const Launch& launch) {
  const mix::Layout layout = layout_of<mix::Family>(launch.kernel);
  const auto a = arguments_of<mix::Arguments>(launch);
  if (layout.key.stage == mix::Stage::arrange) return of_elements(launch);
  const std::int64_t neighbours = a.neighbours, others = a.units / neighbours;
  if (layout.key.stage == mix::Stage::filter) return in_turn({neighbours, others}, launch.blocks);
  const std::int64_t frequencies = a.frequency_slices;
  if (layout.key.product == mix::Product::each)
    return in_turn({neighbours, frequencies, others / frequencies}, launch.blocks);
  return in_turn({frequencies, neighbours / frequencies, others}, launch.blocks);
}

WorkDivision of_short_convolution(const Launch& launch) {
  const auto a = arguments_of<toeplitz::Arguments>(launch);
  const toeplitz::Layout layout = layout_of<toeplitz::Family>(launch.kernel);
  if (layout.key.channels_last) return by_runs({ratio_up(a.channels, layout.streams), a.tiles, a.batch}, 1);
  return by_runs({a.tiles, a.batch, a.channels}, std::int64_t{layout.tuning.warps} * a.run);
}

WorkDivision of_few_taps(const Launch& launch) {
  const auto a = arguments_of<direct::Arguments>(launch);
  const direct::Layout layout = layout_of<direct::Family>(launch.kernel);
  const int warps = layout.tuning.warps;
  if (layout.key.channels_last) return by_runs({ratio_up(a.channels, direct::kWarpChannels), a.parts}, warps);
  if (layout.key.correlates) return by_runs({a.channels, a.parts}, warps);
  return by_runs({a.runs, a.channels, a.batch}, warps);
}

WorkDivision of_state(const Launch& launch) {
  const auto a = arguments_of<state::Arguments>(launch);
  const state::Layout layout = layout_of<state::Family>(launch.kernel);
  if (!state::is_product(layout.key.work)) return by_runs({launch.blocks}, 1);
  const std::int64_t of_channel = launch.blocks / a.channels;
  if (!layout.key.group) return by_runs({of_channel, a.channels}, 1);
  const std::int64_t tiles = ratio_up(a.batch, layout.block_rows);
  return by_runs({tiles, of_channel / tiles, a.channels}, 1);
}

WorkDivision of_weights_gradient(const Launch& launch) {
  if (layout_of<correlate_mix::Family>(launch.kernel).key.stage == correlate_mix::Stage::total)
    return of_elements(launch);
  const auto a = arguments_of<correlate_mix::Arguments>(launch);
  return by_runs({ratio_up(a.inputs, correlate_mix::kChannels), ratio_up(a.outputs, correlate_mix::kChannels),
                  a.frequency_parts, a.item_parts},
                 1);
}

WorkDivision of_taps_gradient(const Launch& launch) {
  const auto a = arguments_of<correlate_short::Arguments>(launch);
  const correlate_short::Layout layout = layout_of<correlate_short::Family>(launch.kernel);
  if (layout.key.total) return of_elements(launch);
  if (layout.key.channels_last) return by_runs({ratio_up(a.channels, layout.tuning.warps), a.parts}, 1);
  return by_runs({a.parts, a.channels}, layout.tuning.warps);
}

// Of a filter's transform: channels, or as many parts of each.
WorkDivision of_filter(const Launch& launch, std::int64_t channels) {
  const bool in_parts = launch.blocks > channels && launch.blocks % channels == 0;
  return by_runs(in_parts ? std::vector{launch.blocks / channels, channels} : std::vector{launch.blocks}, 1);
}

}  // namespace

const Variant* variant_of(const KernelId& id) {
  for (const auto& list : {variants(), sparse_variants()})
    for (const auto& v : list)
      if (v->family == id.family && v->line == id.line && v->instance == id.instance) return v.get();
  return nullptr;
}

std::int64_t blocks_at_once(const KernelId& id, const Device& device, int threads, int shared_bytes) {
  const int with_room = (device.block_bytes + kReservedBytes) / (shared_bytes + kReservedBytes);
  const int of_multiprocessor = std::min({tuned_blocks(id), with_room, kThreadsOfSm / threads});
  return std::int64_t{std::max(of_multiprocessor, 1)} * device.multiprocessors;
}

WorkDivision work_division(const Launch& launch) {
  const KernelId& id = launch.kernel;
  if (id.family == cluster::Family::name) return of_convolution(launch, 1);
  if (id.family == outer::Family::name) {
    const std::int64_t tiles =
        arguments_of<outer::Arguments>(launch).columns / layout_of<outer::Family>(id).tile_columns;
    const std::int64_t at_once = std::min(tiles, launch.blocks);
    return by_runs({at_once, launch.blocks / at_once}, 1);
  }
  if (id.family == correlate_chain::Family::name) {
    const auto a = arguments_of<CorrelationArguments>(launch);
    return by_runs({a.parts, a.rows.channels}, launch.threads / 32);
  }
  if (id.family == correlate_exchange::Family::name) {
    const auto a = arguments_of<CorrelationArguments>(launch);
    return by_runs({launch.cluster, a.parts, a.rows.channels}, 1);
  }
  if (id.family == mix::Family::name) return of_layer(launch);
  if (id.family == correlate_mix::Family::name) return of_weights_gradient(launch);
  if (id.family == toeplitz::Family::name) return of_short_convolution(launch);
  if (id.family == direct::Family::name) return of_few_taps(launch);
  if (id.family == correlate_short::Family::name) return of_taps_gradient(launch);
  if (id.family == state::Family::name) return of_state(launch);
  if (id.family == spectrum::Family::name) return of_filter(launch, arguments_of<spectrum::Arguments>(launch).channels);
  if (id.family == taps::Family::name) return of_filter(launch, arguments_of<taps::Arguments>(launch).channels);
  if (id.family == pieces::Family::name) {
    const auto a = arguments_of<pieces::Arguments>(launch);
    return in_turn({a.channels_now, a.rows_now}, launch.blocks);
  }
  if (const Variant* variant = variant_of(id); variant && variant->size > 0)
    return of_convolution(launch, variant->share({1, 1, Transfer::tensor, 1}).workers_of_block);
  return of_elements(launch);
}

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
