#include "kernels/host/work.hpp"

#include <algorithm>

#include "kernels/executor/aligned.hpp"
#include "kernels/launch.hpp"
#include "kernels/plan.hpp"

namespace danaus {
namespace {

using host::Counters;

struct Execution {
  Counters filter, launch;
};

// Work does not depend on what the samples and the marks are.
Execution executed(const Convolution& problem, const Device& device) {
  const auto marks = problem.mask.zeroed.empty() ? 0 : choose(problem, device).variant->size();
  Plan plan(problem, device, std::vector<std::uint8_t>(marks, 1));
  const std::int64_t samples = problem.batch * problem.channels * problem.length;
  const host::AlignedArray<float> k(problem.channels * problem.filter_length);
  const host::AlignedArray<std::uint16_t> u(samples), y(samples), pregate(problem.pregate ? samples : 0),
      postgate(problem.postgate ? samples : 0);
  Execution execution;
  execution.filter = *plan.set_filter(k.all());
  execution.launch = *plan.execute(u.all(), y.all(), problem.pregate ? pregate.all() : Samples(),
                                   problem.postgate ? postgate.all() : Samples());
  return execution;
}

Counters operator*(std::int64_t times, const Counters& counters) {
  Counters result;
  for (const auto& [name, value] : host::kCounterFields)
    result.*value = static_cast<std::uint64_t>(times) * counters.*value;
  return result;
}

Counters operator+(Counters a, const Counters& b) { return a += b; }

// Rows that do not begin at a sector touch one more or not, by turns.
bool may_be_uneven(std::uint64_t Counters::*value) {
  return value == &Counters::global_load_sectors || value == &Counters::global_store_sectors;
}

// (a - b) / parts; b is part of a, and what is left is `parts` times the same.
Counters difference(const Counters& a, const Counters& b, std::uint64_t parts = 1) {
  Counters result;
  for (const auto& [name, value] : host::kCounterFields) {
    const std::uint64_t left = a.*value - std::min(a.*value, b.*value);
    if (!may_be_uneven(value) && (a.*value < b.*value || left % parts != 0))
      throw std::logic_error("count: " + std::string(name) + " does not grow evenly with blocks, items and channels");
    result.*value = (left + parts / 2) / parts;
  }
  return result;
}

}  // namespace

Counters Work::launch(const Extent& e) const {
  return e.blocks * block + e.items * item + e.half_items * half_item + e.visits * visit;
}

std::int64_t concurrent_blocks(const Variant& variant, const Device& device) {
  const int with_room = (device.block_bytes + kReservedBytes) / (variant.shared_bytes + kReservedBytes);
  return std::int64_t{std::min(variant.tuning.blocks_per_sm, with_room)} * device.multiprocessors;
}

Extent extent_of(const Convolution& problem, const Device& device, std::int64_t concurrent) {
  if (concurrent < 1) fail("count: ", concurrent, " blocks at once, must be at least 1");
  const Setup setup{problem, choose(problem, device), device, {}, {}};
  const Variant& variant = *setup.choice.variant;
  const bool pair = variant.geometry.fold == Fold::pair, chain = variant.geometry.algorithm == Algorithm::chain;
  Extent extent;
  const Spread over = spread(setup, choose_transfer(setup, {}), concurrent);
  extent.blocks = over.blocks;
  extent.half_items = pair && problem.batch % 2 == 1 ? problem.channels : 0;
  extent.items = setup.items() - extent.half_items;

  // Shared out as the kernels do it.
  const std::int64_t items_of_channel = setup.items() / problem.channels;
  const std::int64_t items = items_of_channel * (problem.channels - over.whole_channels);
  const std::int64_t workers = (extent.blocks - over.whole_channels) * (chain ? variant.tuning.warps : 1);
  extent.visits = over.whole_channels;
  for (std::int64_t worker = 0; worker < workers; ++worker) {
    const std::int64_t first = items * worker / workers, last = items * (worker + 1) / workers;
    if (first < last) extent.visits += (last - 1) / items_of_channel - first / items_of_channel + 1;
  }
  const auto ratio_up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  extent.most = over.whole_channels / concurrent * items_of_channel;
  if (workers > 0) extent.most += ratio_up(extent.blocks - over.whole_channels, concurrent) * ratio_up(items, workers);
  return extent;
}

Work count_work(const Convolution& given_problem, const Device& given_device) {
  Convolution problem = given_problem;
  Device device = given_device;
  device.kind = Device::Kind::executor;
  const Variant& variant = *choose(problem, device).variant;
  const bool pair = variant.geometry.fold == Fold::pair, chain = variant.geometry.algorithm == Algorithm::chain;
  const int rows = pair ? 2 : 1, workers = chain ? variant.tuning.warps : 1;
  const auto shape = [&](int batch, int channels, int blocks) {
    problem.batch = batch, problem.channels = channels, device.blocks = blocks;
  };
  Work work;

  shape(rows, 1, 1);
  const Execution single = executed(problem, device);  // a block, an item, a visit
  work.filter = single.filter;
  shape(rows * 2 * workers, 1, 1);
  if (extent_of(problem, device, device.blocks).blocks > 1) {  // always a block of its own for each item
    work.item = single.launch;
  } else {
    const Counters twice = executed(problem, device).launch;  // two items of one channel for each worker
    shape(rows * workers, 1, 1);
    const Counters once = workers == 1 ? single.launch : executed(problem, device).launch;
    work.item = difference(twice, once, workers);

    shape(rows, 2 * workers, 1);  // as many items, and more channels
    const Extent e = extent_of(problem, device, device.blocks);
    const Counters several = executed(problem, device).launch;
    const Counters rest = difference(single.launch, work.item);  // a block and a visit
    work.visit = difference(several, e.items * work.item + e.blocks * rest, e.visits - e.blocks);
    work.block = difference(rest, work.visit);
  }
  if (pair && given_problem.batch % 2 == 1) {
    shape(1, 1, 1);
    work.half_item = difference(executed(problem, device).launch, work.block + work.visit);
  }
  return work;
}

}  // namespace danaus
