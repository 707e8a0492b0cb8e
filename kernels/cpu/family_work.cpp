#include "kernels/cpu/family_work.hpp"

#include <array>
#include <functional>
#include <numeric>

#include "kernels/families/variant.hpp"
#include "kernels/memory/correlation.hpp"

namespace danaus {

using host::Counters;

WorkDivision FamilyWork::division(const Launch& launch) const {
  const Variant* const variant = variant_of(launch.kernel);
  if (!variant || variant->size == 0) return of_elements(launch);
  return of_convolution(launch, variant->share({1, 1, Transfer::tensor, 1}).workers_of_block);
}

Counters FamilyWork::counters(const Launch& launch) const { return of_sampled_blocks(launch); }

void FamilyWork::count(const Launch& launch, LaunchWork& work) const {
  constexpr std::uint64_t kSectorBytes = 32;
  work.counters = counters(launch);
  work.turns = launch.threads / 32 * static_cast<double>(units(launch));
  const Counters& n = work.counters;  // of what is prepared a launch may read a part
  const auto touched = static_cast<double>(kSectorBytes * (n.global_load_sectors + n.global_store_sectors) +
                                           n.bulk_load_bytes + n.bulk_store_bytes);
  work.l2_bytes = std::min(work.l2_bytes, touched), work.hbm_bytes = std::min(work.hbm_bytes, touched);
}

namespace {

std::int64_t product_of(const std::vector<std::int64_t>& digits) {
  return std::accumulate(digits.begin(), digits.end(), std::int64_t{1}, std::multiplies());
}

}  // namespace

WorkDivision by_runs(std::vector<std::int64_t> digits, std::int64_t tasks_of_block) {
  const std::int64_t all = product_of(digits);
  return {std::move(digits), [=](std::int64_t block) {
            const std::int64_t first = block * tasks_of_block;
            return WorkDivision::Tasks{first, std::clamp<std::int64_t>(all - first, 0, tasks_of_block)};
          }};
}

WorkDivision in_turn(std::vector<std::int64_t> digits, std::int64_t blocks) {
  const std::int64_t all = product_of(digits);
  return {std::move(digits), [=](std::int64_t block) {
            return WorkDivision::Tasks{block, ratio_up(std::max<std::int64_t>(all - block, 0), blocks), blocks};
          }};
}

WorkDivision of_elements(const Launch& launch) {
  WorkDivision division = by_runs({launch.blocks}, 1);
  division.of_elements = true;
  return division;
}

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

WorkDivision of_filter(const Launch& launch, std::int64_t channels) {
  const bool in_parts = launch.blocks > channels && launch.blocks % channels == 0;
  return by_runs(in_parts ? std::vector{launch.blocks / channels, channels} : std::vector{launch.blocks}, 1);
}

Counters divided(Counters counters, std::int64_t times, std::int64_t by) {
  for (const auto& [name, value] : host::kCounterFields)
    counters.*value = (counters.*value * static_cast<std::uint64_t>(times) + static_cast<std::uint64_t>(by) / 2) /
                      static_cast<std::uint64_t>(by);
  return counters;
}
Counters less(Counters a, const Counters& b) {
  for (const auto& [name, value] : host::kCounterFields) a.*value -= std::min(a.*value, b.*value);
  return a;
}
Counters plus(Counters a, const Counters& b) { return a += b; }

Counters run_block(Launch launch, std::int64_t block, std::int64_t of_blocks) {
  launch.blocks = of_blocks;
  return run_blocks(launch, std::array{block});
}

Counters of_sampled_blocks(const Launch& launch) {
  constexpr std::int64_t kSampledBlocks = 6;  // that stand for those between them
  const std::int64_t uneven = family_work(launch.kernel.family).uneven_blocks(launch),
                     together = launch.cluster * uneven;
  const std::int64_t last = launch.blocks / together - 1, count = std::min(last, kSampledBlocks);
  const auto run = [&](std::int64_t i) {
    const Counters first = run_block(launch, i * together, launch.blocks);
    if (uneven == 1) return first;
    return plus(divided(first, uneven - 1, 1), run_block(launch, (i + 1) * together - 1, launch.blocks));
  };
  Counters all;
  for (std::int64_t i = 0; i < count; ++i) all += run(i * last / count);
  return plus(count > 0 ? divided(all, last, count) : all, run(last));
}

Counters of_sums(const Launch& launch, int item_rows, int workers_of_block) {
  const auto given = arguments_of<CorrelationArguments>(launch);
  const std::int64_t more = more_items(given.rows.transfer != Transfer::element), parts = given.parts;
  const std::int64_t items = given.rows.division.items_of_channel;
  if (items <= more * parts) return of_sampled_blocks(launch);
  Launch part = launch;
  const auto run = [&](std::int64_t count) {
    CorrelationArguments a = given;
    a.rows.division.items_of_channel = static_cast<int>(count * parts);
    a.rows.batch = static_cast<int>(std::min<std::int64_t>(given.rows.batch, count * parts * item_rows));
    part.give(a);
    return run_block(part, 0, launch.blocks);
  };
  const Counters few = run(kFewItems);
  const Counters round = divided(less(run(more), few), 1, more - kFewItems);  // an item of each worker of a block
  const std::int64_t workers = parts * given.rows.channels;
  return divided(plus(less(few, divided(round, kFewItems, 1)), divided(round, items, parts)), workers,
                 std::min<std::int64_t>(workers, workers_of_block));
}

double items_of_sums(const Launch& launch) {
  const auto a = arguments_of<CorrelationArguments>(launch).rows;
  return static_cast<double>(a.division.items_of_channel) * a.channels;
}

}  // namespace danaus
