#include "experiments/counting/counted.hpp"

namespace danaus {
namespace {

Json values(const host::Counters& counters) {
  Json object = Json::object();
  for (const auto& [name, value] : host::kCounterFields) object[std::string(name)] = counters.*value;
  return object;
}

}  // namespace

Counted count(const Problem& problem, const Device& device, std::int64_t concurrent) {
  Counted counted{problem, choose(problem, device).variant, {}, {}, {}};
  if (concurrent == 0) concurrent = concurrent_blocks(*counted.variant, device);
  counted.extent = extent_of(problem, device, concurrent);
  counted.work = count_work(problem, device);
  counted.launch = counted.work.launch(counted.extent);
  return counted;
}

Json describe(const Counted& c) {
  return {{"variant", name(*c.variant)},
          {"fft_size", c.variant->size()},
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

}  // namespace danaus
