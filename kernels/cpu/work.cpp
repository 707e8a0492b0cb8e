#include "kernels/cpu/work.hpp"

#include <algorithm>
#include <optional>

#include "kernels/cpu/machine.hpp"
#include "kernels/executor/aligned.hpp"
#include "kernels/families/spectrum/family.hpp"
#include "kernels/plan/arrays.hpp"
#include "kernels/plan/choice.hpp"
#include "kernels/plan/plan.hpp"
#include "reference/convolution/mask.hpp"

namespace danaus {
namespace {

using host::Counters;

// A plan whose launches leave their counters. Work does not depend on what the samples are.
class Counting {
 public:
  Counting(const Case& asked, const Device& device) : arrays_(asked.arrays()) {
    ExecutorOptions options;
    options.device = device, options.blocks = 1;
    options.observer = [this](const Launch&, const Counters& counters) { counted_ = counters; };
    plan_.emplace(asked, executor_machine(options), marks_of(asked));
    for (const Array& array : arrays_) memory_.emplace_back(bytes(array.dtype) * array.size());
  }
  Counters filter() {
    plan_->set_filter(memory_.at(array_of(arrays_, "k")).all());
    return counted_;
  }
  Counters launch() {
    filter();
    std::vector<Buffer> buffers;
    for (std::size_t i = 0; i < arrays_.size(); ++i)
      if (arrays_[i].role != Role::filter) buffers.emplace_back(arrays_[i].name, memory_[i].all());
    plan_->execute(buffers);
    return counted_;
  }

 private:
  std::vector<Array> arrays_;
  std::vector<host::AlignedArray<std::byte>> memory_;
  Counters counted_;
  std::optional<Plan> plan_;
};

// That a plan takes.
const Variant& chosen(const Convolution& problem, const Device& device) {
  return choose(problem, device, marks_of(problem));
}

// Of as many channels as a block of the filter's kernel takes, and of those that are left.
Counters filter_work(Convolution problem, const Device& device) {
  const Variant& variant = chosen(problem, device);
  if (variant.size == 0) return {};
  const spectrum::Split split = spectrum::split_of(variant.wraps(), variant.size, device.block_bytes);
  const std::int64_t of_block = split.layout().tuning.transforms, channels = problem.channels;
  problem.batch = 1;
  const auto counted = [&](std::int64_t some) {
    problem.channels = some;
    return some > 0 ? Counting(problem, device).filter() : Counters();
  };
  Counters all = counted(channels % of_block);
  const Counters whole = channels >= of_block ? counted(of_block) : Counters();
  for (const auto& [name, value] : host::kCounterFields)
    all.*value += static_cast<std::uint64_t>(channels / of_block) * whole.*value;
  return all;
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

Share share_of(const Convolution& problem, const Variant& variant, const Device& device, std::int64_t concurrent) {
  return variant.share({variant.items_of_channel(problem.batch), problem.channels,
                        choose_transfer(problem.length, problem.channels, variant, device), concurrent});
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
  return extent_of(problem, chosen(problem, device), device, concurrent);
}

Extent extent_of(const Convolution& problem, const Variant& variant, const Device& device, std::int64_t concurrent) {
  if (concurrent < 1) fail("count: ", concurrent, " blocks at once, must be at least 1");
  const Share share = share_of(problem, variant, device, concurrent);
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
  const std::int64_t whole = division.whole_channels, sharing = workers - whole * share.workers_of_block;
  extent.most = whole / concurrent * of_channel;
  if (sharing > 0)
    extent.most += ratio_up(share.blocks - whole, concurrent) * ratio_up((channels - whole) * of_channel, sharing);
  return extent;
}

double imbalance(const Extent& e, std::int64_t concurrent) {
  return static_cast<double>(e.most * concurrent * e.workers_of_block) / static_cast<double>(e.items + e.half_items);
}

namespace {

// Whether a worker reads a spectrum of so many bytes when it meets a channel, and keeps it.
bool keeps_spectrum(const Work& work, double bytes) {
  constexpr std::uint64_t kSectorBytes = 32;
  return static_cast<double>(kSectorBytes * work.visit.global_load_sectors + work.visit.bulk_load_bytes) >= bytes;
}

}  // namespace

double waits(const Variant& variant, const Work& work, const Extent& e, Path path, double bytes) {
  constexpr double kNumbersAtOnce = 32;
  double of_item = path == Path::tensor ? 0 : 1;
  if (e.workers_of_block == 1 && !keeps_spectrum(work, bytes))
    of_item += variant.spectrum_numbers() / (variant.threads * kNumbersAtOnce);
  return of_item * static_cast<double>(e.most);
}

double spectrum_rereads(const Variant& variant, const Device& device, const Work& work, const Extent& e, double bytes,
                        std::int64_t channels) {
  constexpr std::int64_t kBeyondShared = 28 * 1024;  // L1 and shared memory together have more than blocks may take
  const std::int64_t sms = device.multiprocessors;
  const std::int64_t blocks = ratio_up(std::min(e.blocks, concurrent_blocks(variant, device)), sms);  // of an SM
  const std::int64_t l1_bytes =
      device.block_bytes + kReservedBytes + kBeyondShared - blocks * (variant.shared_bytes + kReservedBytes);
  const bool in_l1 = bytes * static_cast<double>(blocks * e.workers_of_block) <= static_cast<double>(l1_bytes);
  return bytes *
         static_cast<double>((in_l1 || keeps_spectrum(work, bytes) ? e.visits : e.items + e.half_items) - channels);
}

void require_one_launch(const Convolution& problem, const Device& device) {
  const Variant& variant = chosen(problem, device);
  if (takes_several_launches(variant))
    fail("count: ", token(problem), " takes several launches, by ", variant.name, ", not one");
}

Work count_work(const Convolution& problem, const Device& device) {
  Work work = count_launch(problem, device);
  work.filter = filter_work(planned(problem, chosen(problem, device)), device);
  return work;
}

Work count_launch(const Convolution& problem, const Device& device) {
  const Variant& variant = chosen(problem, device);
  require_one_launch(problem, device);
  // By the same kernel, whatever its batch.
  return count_launch(planned(problem, variant), variant, device, [](const Convolution& p) { return Case(p); });
}

Work count_launch(Convolution problem, const Variant& variant, const Device& device,
                  const std::function<Case(const Convolution&)>& case_of) {
  const std::int64_t batch_of_all = problem.batch;
  const int rows = variant.item_rows(), workers = share_of(problem, variant, device, 1).workers_of_block;
  const auto run = [&](int batch, int channels) {
    problem.batch = batch, problem.channels = channels;
    return Counting(case_of(problem), device).launch();
  };
  Work work;

  const Counters single = run(rows, 1);  // a block, an item, a visit
  problem.batch = rows * 2 * workers, problem.channels = 1;
  if (share_of(problem, variant, device, 1).blocks > 1) {  // always a block of its own for each item
    work.item = single;
  } else {
    // Rows that come with what encloses them differ by their alignments, eight in turn, and at the arrays' end.
    const bool uneven = encloses(path_of(choose_transfer(problem.length, problem.channels, variant, device)));
    const int each = (uneven ? 8 : 1) * workers;
    const Counters twice = run(rows * 2 * each, 1);  // of one channel, twice as many items for each worker
    const Counters once = each == 1 ? single : run(rows * each, 1);
    work.item = difference(twice, once, each, uneven);

    const Counters several = run(rows, 2 * workers);  // as many items, and more channels
    const Extent e = extent_of(problem, variant, device, 1);
    const Counters rest = difference(single, work.item, 1, uneven);  // a block and a visit
    work.visit = difference(several, e.items * work.item + e.blocks * rest, e.visits - e.blocks, uneven);
    work.block = difference(rest, work.visit, 1, uneven);
  }
  if (rows == 2 && batch_of_all % 2 == 1) work.half_item = difference(run(1, 1), work.block + work.visit);
  return work;
}

}  // namespace danaus
