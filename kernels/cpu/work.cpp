#include "kernels/cpu/work.hpp"

#include <algorithm>

#include "kernels/cpu/machine.hpp"
#include "kernels/executor/aligned.hpp"
#include "kernels/plan/plan.hpp"

namespace danaus {
namespace {

using host::Counters;

struct Execution {
  Counters filter, launch;
};

// Work does not depend on what the samples and the marks are.
Execution executed(const Convolution& problem, const Device& device, int blocks) {
  Execution execution;
  Counters counted;
  ExecutorOptions options;
  options.device = device, options.blocks = blocks;
  options.observer = [&](const Launch&, const Counters& counters) { counted = counters; };
  const auto marks = problem.mask.zeroed.empty() ? 0 : choose(problem, device).variant->size;
  Plan plan(problem, executor_machine(options), std::vector<std::uint8_t>(marks, 1));
  const std::int64_t samples = problem.batch * problem.channels * problem.length;
  const host::AlignedArray<float> k(problem.channels * problem.filter_length);
  const host::AlignedArray<std::uint16_t> u(samples), y(samples), gate(samples);
  plan.set_filter(k.all());
  execution.filter = counted;
  std::vector<Buffer> buffers = {{"u", u.all()}, {"y", y.all()}};
  if (problem.pregate) buffers.emplace_back("pregate", gate.all());
  if (problem.postgate) buffers.emplace_back("postgate", gate.all());
  plan.execute(buffers);
  execution.launch = counted;
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

// (a - b) / parts; b is part of a, and what is left is `parts` times the same, or, of rows that differ, on average.
Counters difference(const Counters& a, const Counters& b, std::uint64_t parts = 1, bool uneven = false) {
  Counters result;
  for (const auto& [name, value] : host::kCounterFields) {
    const std::uint64_t left = a.*value - std::min(a.*value, b.*value);
    if (!uneven && !may_be_uneven(value) && (a.*value < b.*value || left % parts != 0))
      throw std::logic_error("count: " + std::string(name) + " does not grow evenly with blocks, items and channels");
    result.*value = (left + parts / 2) / parts;
  }
  return result;
}

Share share_of(const Convolution& problem, const Device& device, std::int64_t concurrent) {
  const Choice choice = choose(problem, device);
  const Variant& variant = *choice.variant;
  return variant.share({variant.items_of_channel(problem.batch), problem.channels,
                        choose_transfer(problem, variant, device, choice.wraps, {}), concurrent});
}

}  // namespace

Counters Work::launch(const Extent& e) const {
  return e.blocks * block + e.items * item + e.half_items * half_item + e.visits * visit;
}

std::int64_t concurrent_blocks(const Variant& variant, const Device& device) {
  const int with_room = (device.block_bytes + kReservedBytes) / (variant.shared_bytes + kReservedBytes);
  return std::int64_t{std::min(variant.blocks_per_sm, with_room)} * device.multiprocessors;
}

Extent extent_of(const Convolution& problem, const Device& device, std::int64_t concurrent) {
  if (concurrent < 1) fail("count: ", concurrent, " blocks at once, must be at least 1");
  const Variant& variant = *choose(problem, device).variant;
  const Share share = share_of(problem, device, concurrent);
  const Division& division = share.division;
  const int channels = static_cast<int>(problem.channels), of_channel = division.items_of_channel;

  Extent extent;
  extent.blocks = share.blocks, extent.workers_of_block = share.workers_of_block;
  extent.half_items = variant.item_rows() == 2 && problem.batch % 2 == 1 ? problem.channels : 0;
  extent.items = problem.channels * of_channel - extent.half_items;
  const int workers = static_cast<int>(share.blocks * share.workers_of_block);
  for (int worker = 0; worker < workers; ++worker) {
    const ItemRange range = division.of(worker, workers, channels);
    if (range.count > 0) extent.visits += (range.first + range.count - 1) / of_channel - range.first / of_channel + 1;
  }
  // Rounds of blocks with a channel each, then of those that share the rest.
  const auto ratio_up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const std::int64_t whole = division.whole_channels, sharing = workers - whole * share.workers_of_block;
  extent.most = whole / concurrent * of_channel;
  if (sharing > 0)
    extent.most += ratio_up(share.blocks - whole, concurrent) * ratio_up((channels - whole) * of_channel, sharing);
  return extent;
}

Work count_work(const Convolution& given_problem, const Device& device) {
  Convolution problem = given_problem;
  const Choice choice = choose(problem, device);
  const Variant& variant = *choice.variant;
  const int rows = variant.item_rows(), workers = share_of(problem, device, 1).workers_of_block;
  const auto run = [&](int batch, int channels) {
    problem.batch = batch, problem.channels = channels;
    return executed(problem, device, 1);
  };
  Work work;

  const Execution single = run(rows, 1);  // a block, an item, a visit
  work.filter = single.filter;
  problem.batch = rows * 2 * workers, problem.channels = 1;
  if (share_of(problem, device, 1).blocks > 1) {  // always a block of its own for each item
    work.item = single.launch;
  } else {
    // Rows that come with what encloses them differ by their alignments, eight in turn, and at the arrays' end.
    const bool uneven = choose_transfer(problem, variant, device, choice.wraps, {}) == Transfer::enclosing;
    const int each = (uneven ? 8 : 1) * workers;
    const Counters twice = run(rows * 2 * each, 1).launch;  // of one channel, twice as many items for each worker
    const Counters once = each == 1 ? single.launch : run(rows * each, 1).launch;
    work.item = difference(twice, once, each, uneven);

    const Counters several = run(rows, 2 * workers).launch;  // as many items, and more channels
    const Extent e = extent_of(problem, device, 1);
    const Counters rest = difference(single.launch, work.item, 1, uneven);  // a block and a visit
    work.visit = difference(several, e.items * work.item + e.blocks * rest, e.visits - e.blocks, uneven);
    work.block = difference(rest, work.visit, 1, uneven);
  }
  if (rows == 2 && given_problem.batch % 2 == 1) work.half_item = difference(run(1, 1).launch, work.block + work.visit);
  return work;
}

}  // namespace danaus
