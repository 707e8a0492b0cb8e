#include "experiments/count/kernel_work.hpp"

#include <algorithm>
#include <cmath>

#include "experiments/count/counted.hpp"
#include "kernels/families/cluster/family.hpp"
#include "kernels/families/layer/family.hpp"
#include "kernels/plan/arrays.hpp"
#include "kernels/plan/registry.hpp"

namespace danaus {
namespace {

constexpr double kSectorBytes = 32, kWavefrontBytes = 128;
constexpr double kLocalWordBytes = 4;                   // a warp's lie side by side, a wavefront's bytes
constexpr double kGroupOperandBytes = 2. * 16 * 8 / 4;  // of a product's second operand, for each of the group's warps

// Of a fused convolution; else nothing.
const Variant* fused_kernel(const LaunchWork& launch) {
  for (const auto& list : {variants(), sparse_variants(), filtered_variants()})
    for (const auto& v : list)
      if (v->name == launch.kernel) return v.get();
  return nullptr;
}

// How workers of a launch go on from turn to turn: where they meet, what is there before they ask for it, what they
// wait for.
void add_turns(const LaunchWork& launch, std::int64_t batch, const Device& device, KernelWork& work) {
  constexpr double kMeets = 0.3;  // barriers a turn; blocks without any in their turns have a few as they begin
  constexpr double kStages = 8;   // a turn has fewer between the stages of its DFTs; of more each is before new loads
  const double sms = device.multiprocessors, warps = launch.threads / 32;
  const double turns = std::max(launch.turns / warps, 1.), turns_of_block = turns / static_cast<double>(launch.blocks);
  const auto barriers = static_cast<double>(launch.counters.block_barriers);
  const Variant* fused = fused_kernel(launch);
  work.meets = warps > 1 && (barriers / turns > kMeets || (launch.phased && barriers > 0));
  // Blocks with rings and those with several turns have the next rows on their way.
  const bool in_ring = fused || launch.path < Path::threads || (turns_of_block > 1.01 && !launch.phased);
  work.prefetch = in_ring ? Prefetch::shared : launch.ahead ? Prefetch::l2 : Prefetch::none;

  const double waves = std::max(static_cast<double>(launch.blocks) / static_cast<double>(launch.concurrent), 1.);
  if (!work.in_phases()) work.last_wave = std::max(std::ceil(waves) / waves / launch.imbalance, 1.);
  const bool stays = launch.id.family == layer::Family::name;  // its blocks take all units in turn
  if (work.in_phases() && work.prefetch == Prefetch::none && !stays) {
    const double loads = barriers / turns > kStages ? barriers / turns : 1;
    work.starts = std::ceil(waves) * loads / work.resident_blocks;
  }
  if (fused) {
    const double items_of_channel = std::max<double>(ratio_up(batch, fused->item_rows()), 1);
    const double rounds = std::max(launch.turns / (work.resident_warps * sms), 1.);
    work.waits = launch.waits + std::max(rounds / items_of_channel, 1.);  // channels that a worker meets
  }
}

int blocks_of_cluster(const KernelId& id) {
  if (id.family != cluster::Family::name) return 1;
  return cluster::Family::instances(id.line).list[id.instance].key.shares;
}

KernelWork of_launch(const LaunchWork& launch, Dtype dtype, std::int64_t batch, const Device& device,
                     const MachineCode& compiled) {
  const host::Counters& n = launch.counters;
  KernelWork work;
  work.dtype = dtype;
  work.mma_f16acc = static_cast<double>(n.mma_f16acc);
  work.mma_f32acc = static_cast<double>(n.mma_f32acc);
  work.mma_depth8 = static_cast<double>(n.mma_depth8);
  work.mma_tf32 = static_cast<double>(n.mma_tf32);
  work.mma_group = static_cast<double>(n.mma_group);
  work.packed_operations = static_cast<double>(n.packed_operations);
  work.fp32_operations = static_cast<double>(n.fp32_operations);
  work.byte_permutes = static_cast<double>(n.byte_permutes);
  work.conversions = static_cast<double>(n.conversions + n.half_unpacks + n.bf16_unpacks);
  work.warp_instructions = counted_instructions(n);
  work.l1_wavefronts =
      static_cast<double>(n.shared_wavefronts) +
      kSectorBytes / kWavefrontBytes * static_cast<double>(n.global_load_sectors + n.global_store_sectors) +
      static_cast<double>(n.bulk_load_bytes + n.bulk_store_bytes) / kWavefrontBytes +
      static_cast<double>(n.mma_group) * kGroupOperandBytes / kWavefrontBytes;
  if (const auto said = compiled.of(launch.id, launch.path, device.sm))
    work.local_accesses = 2 * static_cast<double>(said->local_bytes) / kLocalWordBytes * launch.turns;
  else
    work.local_is_known = false;
  work.remote_bytes = static_cast<double>(n.remote_load_bytes + n.remote_store_bytes);
  work.l2_bytes = launch.l2_bytes, work.hbm_bytes = launch.hbm_bytes;
  work.imbalance = launch.imbalance;
  work.cluster = blocks_of_cluster(launch.id);
  const std::int64_t at_once = std::min(launch.concurrent, launch.blocks), sms = device.multiprocessors;
  work.resident_blocks = static_cast<double>(ratio_up(at_once, sms));
  work.resident_warps = work.resident_blocks * launch.threads / 32;
  add_turns(launch, batch, device, work);
  return work;
}

}  // namespace

std::vector<RepeatedWork> kernel_work(const Case& asked, const ProgramWork& program, const Device& device,
                                      bool prepares, const MachineCode& compiled) {
  const Dtype dtype = asked.arrays().front().dtype;
  const std::int64_t batch = batch_of(asked.arrays());
  std::vector<RepeatedWork> list;
  for (const LaunchWork& launch : program.launches) {
    if (launch.prepares != prepares) continue;
    list.push_back({of_launch(launch, dtype, batch, device, compiled), static_cast<double>(launch.times)});
    list.back().work.follows = list.size() > 1;
  }
  return list;
}

}  // namespace danaus
