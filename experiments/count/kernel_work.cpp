#include "experiments/count/kernel_work.hpp"

#include <algorithm>

#include "experiments/bench/work.hpp"

namespace danaus {
namespace {

constexpr double kSectorBytes = 32, kWavefrontBytes = 128;

double ratio_up(std::int64_t a, std::int64_t b) { return static_cast<double>((a + b - 1) / b); }

// Items in the place that has most, over those of all if they were shared out evenly.
double imbalance(const Counted& c, std::int64_t concurrent) {
  const std::int64_t items = c.extent.items + c.extent.half_items;
  const std::int64_t of_block = c.extent.workers_of_block;
  return static_cast<double>(c.extent.most * concurrent * of_block) / static_cast<double>(items);
}

}  // namespace

KernelWork kernel_work(const Counted& c, const Device& device, std::int64_t concurrent) {
  if (concurrent == 0) concurrent = concurrent_blocks(*c.variant, device);
  const host::Counters& n = c.launch;
  const double spectrum_bytes = 4. * c.variant->size, channels = static_cast<double>(c.problem.channels);
  const bool kept = kSectorBytes * static_cast<double>(c.work.visit.global_load_sectors) >= spectrum_bytes;
  const std::int64_t reads = kept ? c.extent.visits : c.extent.items + c.extent.half_items;

  KernelWork work;
  work.dtype = c.problem.dtype;
  work.mma_f16acc = static_cast<double>(n.mma_f16acc);
  work.mma_f32acc = static_cast<double>(n.mma_f32acc);
  work.mma_depth8 = static_cast<double>(n.mma_depth8);
  work.packed_operations = static_cast<double>(n.packed_operations);
  work.fp32_operations = static_cast<double>(n.fp32_operations);
  work.byte_permutes = static_cast<double>(n.byte_permutes);
  work.conversions = static_cast<double>(n.conversions);
  work.warp_instructions = counted_instructions(n);
  work.l1_wavefronts =
      static_cast<double>(n.shared_wavefronts) +
      kSectorBytes / kWavefrontBytes * static_cast<double>(n.global_load_sectors + n.global_store_sectors) +
      static_cast<double>(n.bulk_load_bytes + n.bulk_store_bytes) / kWavefrontBytes;
  work.l2_bytes = moved_bytes(c.problem) + spectrum_bytes * static_cast<double>(reads);
  work.hbm_bytes = moved_bytes(c.problem) + spectrum_bytes * channels;
  work.imbalance = imbalance(c, concurrent);
  const double blocks_per_sm = ratio_up(std::min(concurrent, c.extent.blocks), device.multiprocessors);
  work.resident_warps = blocks_per_sm * c.variant->threads / 32;
  return work;
}

}  // namespace danaus
