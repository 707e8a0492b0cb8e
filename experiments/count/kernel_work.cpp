#include "experiments/count/kernel_work.hpp"

#include <algorithm>

#include "experiments/count/counted.hpp"

namespace danaus {
namespace {

constexpr double kSectorBytes = 32, kWavefrontBytes = 128;
constexpr double kLocalWordBytes = 4;                   // a warp's lie side by side, a wavefront's bytes
constexpr double kGroupOperandBytes = 2. * 16 * 8 / 4;  // of a product's second operand, for each of the group's warps

KernelWork of_launch(const LaunchWork& launch, Dtype dtype, const Device& device, const MachineCode& compiled) {
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
  work.imbalance = launch.imbalance, work.waits = launch.waits;
  work.phased = launch.phased, work.ahead = launch.ahead;
  const std::int64_t at_once = std::min(launch.concurrent, launch.blocks), sms = device.multiprocessors;
  work.resident_warps = static_cast<double>((at_once + sms - 1) / sms) * launch.threads / 32;
  return work;
}

}  // namespace

std::vector<RepeatedWork> kernel_work(const Case& asked, const ProgramWork& program, const Device& device,
                                      bool prepares, const MachineCode& compiled) {
  const Dtype dtype = asked.arrays().front().dtype;
  std::vector<RepeatedWork> list;
  for (const LaunchWork& launch : program.launches)
    if (launch.prepares == prepares)
      list.push_back({of_launch(launch, dtype, device, compiled), static_cast<double>(launch.times)});
  return list;
}

}  // namespace danaus
