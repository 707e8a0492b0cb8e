#include "experiments/count/counted.hpp"

#include "kernels/plan/long.hpp"
#include "reference/convolution/mask.hpp"

namespace danaus {
namespace {

constexpr double kGroupTiles = 8;  // of columns, or more, that one product of a group has

Json values(const host::Counters& counters) {
  Json object = Json::object();
  for (const auto& [name, value] : host::kCounterFields) object[std::string(name)] = counters.*value;
  return object;
}

}  // namespace

Counted count(const Convolution& problem, const Device& device, std::int64_t concurrent) {
  Counted counted{problem, &choose(problem, device, marks_of(problem)), {}, {}, {}};
  if (concurrent == 0) concurrent = concurrent_blocks(*counted.variant, device);
  counted.extent = extent_of(problem, device, concurrent);
  counted.work = count_work(problem, device);
  counted.launch = counted.work.launch(counted.extent);
  return counted;
}

double counted_instructions(const host::Counters& n) {
  const auto of_threads =
      n.packed_operations + n.fp32_operations + n.conversions + n.half_unpacks + n.bf16_unpacks + n.byte_permutes;
  return static_cast<double>(n.mma_f16acc + n.mma_f32acc + n.mma_depth8 + n.mma_tf32 + n.shared_instructions +
                             n.global_instructions + n.warp_barriers) +
         static_cast<double>(n.mma_group) / kGroupTiles + static_cast<double>(of_threads) / 32;
}

Json describe(const Counted& c) {
  return {{"variant", c.variant->name},
          {"fft_size", c.variant->size},
          {"launch",
           {{"blocks", c.extent.blocks},
            {"threads", c.variant->threads},
            {"items", c.extent.items},
            {"half_items", c.extent.half_items},
            {"visits", c.extent.visits}}},
          {"counts",
           {{"launch", values(c.launch)},
            {"item", values(c.work.item)},
            {"half_item", values(c.work.half_item)},
            {"visit", values(c.work.visit)},
            {"block", values(c.work.block)},
            {"filter", values(c.work.filter)}}}};
}

Json describe(const ProgramWork& program) {
  Json launches = Json::array();
  for (const LaunchWork& each : program.launches)
    launches.push_back({{"kernel", each.kernel},
                        {"part", each.prepares ? "prepare" : "execute"},
                        {"times", each.times},
                        {"blocks", each.blocks},
                        {"threads", each.threads},
                        {"shared_bytes", each.shared_bytes},
                        {"l2_bytes", each.l2_bytes},
                        {"hbm_bytes", each.hbm_bytes},
                        {"counts", values(each.counters)}});
  return {{"variant", program.variant},
          {"fft_size", program.size},
          {"launches", launches},
          {"sums", {{"prepare", values(program.sum(true))}, {"execute", values(program.sum(false))}}}};
}

bool is_one_launch(const Case& asked, const Device& device) {
  const auto* p = asked.as<Convolution>();
  return p && !takes_several_launches(choose(*p, device));
}

}  // namespace danaus
