#include "kernels/cpu/program_work.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <new>
#include <set>
#include <utility>

#include "kernels/cpu/blocks.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/executor/operations.hpp"
#include "kernels/families/cluster/family.hpp"
#include "kernels/families/correlate_chain/family.hpp"
#include "kernels/families/correlate_exchange/family.hpp"
#include "kernels/families/correlate_mix/family.hpp"
#include "kernels/families/mix/family.hpp"
#include "kernels/families/outer/family.hpp"
#include "kernels/families/rescaled/family.hpp"
#include "kernels/families/spectrum/family.hpp"
#include "kernels/families/state/family.hpp"
#include "kernels/families/taps/family.hpp"
#include "kernels/families/toeplitz/family.hpp"
#include "kernels/plan/arrays.hpp"
#include "kernels/plan/machine.hpp"
#include "kernels/plan/plan.hpp"
#include "kernels/plan/registry.hpp"
#include "reference/convolution/mask.hpp"

namespace danaus {
namespace {

using host::Counters;

constexpr std::int64_t kPage = 4096;
constexpr std::int64_t kSampledBlocks = 6;  // that stand for those between them
constexpr std::uint64_t kSectorBytes = 32;

// Zeros, of which only pages that are written take memory.
std::shared_ptr<void> reserve(std::int64_t bytes) {
  const std::size_t size = static_cast<std::size_t>(ratio_up(std::max<std::int64_t>(bytes, 1), kPage) * kPage);
  void* const begin = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) throw std::bad_alloc();
  return {begin, [size](void* memory) { ::munmap(memory, size); }};
}

bool is_of_layers(const KernelId& id) {
  return id.family == mix::Family::name || id.family == correlate_mix::Family::name;
}

// Whether its blocks go from phase to phase, with a barrier between: then what one phase needs of a resource is no
// other's to use meanwhile, but in the few other blocks of a multiprocessor.
bool is_phased(const KernelId& id) {
  return is_of_layers(id) || id.family == spectrum::Family::name || id.family == taps::Family::name;
}

// Times that a block of a layer waits for its first unit, with nothing to do meanwhile: for tables, points and weights,
// at three barriers and for its stores. One item takes 3.5 to 4 us more than its work on an H200, 128 points or 256, 32
// channels or 128.
constexpr double kWaitsOfLayer = 7;

// Whether points of the next item set out before this one is mixed: where a layer's block has places for them.
bool brings_ahead(const Launch& launch) {
  return launch.kernel.family == mix::Family::name && arguments_of<mix::Arguments>(launch).places.staged_at >= 0;
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

// One block of a launch of so many; of clusters, all of the block's.
Counters run_block(Launch launch, std::int64_t block, std::int64_t of_blocks) {
  launch.blocks = of_blocks;
  return run_blocks(launch, std::array{block});
}

// Blocks that stand side by side over channels, where the last of them has fewer than the others; else 1.
std::int64_t uneven_blocks(const Launch& launch) {
  if (launch.kernel.family != toeplitz::Family::name || !toeplitz::kLines[launch.kernel.line].channels_last) return 1;
  const auto made = toeplitz::Family::instances(launch.kernel.line).list[launch.kernel.instance];
  const std::int64_t channels = arguments_of<toeplitz::Arguments>(launch).channels;
  const int of_block = toeplitz::Layout(made.key, made.tuning).streams;
  return channels % of_block == 0 ? 1 : ratio_up(channels, of_block);
}

Counters of_sampled_blocks(const Launch& launch) {
  const std::int64_t uneven = uneven_blocks(launch), together = launch.cluster * uneven;
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

// Of blocks with few items, and with more: what a block has besides, and what an item takes. Where rows do not begin at
// 16 bytes they differ by their alignments, eight in turn.
constexpr std::int64_t kFewItems = 1;
constexpr std::int64_t more_items(bool aligned) { return aligned ? 3 : 9; }

outer::Layout layout_of_outer(const Launch& launch) {
  const auto key = outer::Family::instances(launch.kernel.line).list[launch.kernel.instance].key;
  return {key, outer::kLines.at(launch.kernel.line).tuning};
}

// A block has one tile of all items that it shares with others. Tiles beyond the rows' ends have less.
Counters of_outer_pass(const Launch& launch) {
  const auto given = arguments_of<outer::Arguments>(launch);
  const outer::Layout layout = layout_of_outer(launch);
  const int item_rows = layout.item_rows;
  const std::int64_t of_channel = ratio_up(given.batch, item_rows), items = of_channel * given.channel_count;
  const std::int64_t more = more_items(given.aligned), tiles = given.columns / layout.tile_columns;
  if (items <= more * (launch.blocks / tiles)) return of_sampled_blocks(launch);
  Launch part = launch;
  const auto run = [&](std::int64_t count, std::int64_t tile) {
    outer::Arguments a = given;
    a.batch = static_cast<int>(std::min<std::int64_t>(given.batch, count * item_rows));
    a.channel_count = static_cast<int>(std::min<std::int64_t>(given.channel_count, ratio_up(count, of_channel)));
    part.give(a);
    return std::pair(run_block(part, tile, tiles), ratio_up(a.batch, item_rows) * a.channel_count);
  };
  const std::set<std::int64_t> some = {0, tiles / 2, tiles - 1};
  Counters all;
  for (std::int64_t tile : some) {
    const auto [few, few_count] = run(kFewItems, tile);
    const auto [many, count] = run(more, tile);
    const Counters item = divided(less(many, few), 1, count - few_count);
    all += plus(divided(less(few, divided(item, few_count, 1)), launch.blocks / tiles, 1), divided(item, items, 1));
  }
  return divided(all, tiles, std::ssize(some));
}

cluster::Key key_of_cluster(const Launch& launch) {
  return cluster::Family::instances(launch.kernel.line).list[launch.kernel.instance].key;
}

// A cluster has a part of all items.
Counters of_clusters(const Launch& launch) {
  const auto given = arguments_of<ConvolutionArguments>(launch);
  const int item_rows = key_of_cluster(launch).fold == Fold::pair ? 2 : 1;
  const std::int64_t clusters = launch.blocks / launch.cluster, more = more_items(given.transfer != Transfer::element);
  const std::int64_t items = std::int64_t{given.division.items_of_channel} * given.channels;
  if (items <= more * clusters) return of_sampled_blocks(launch);
  Launch part = launch;
  const auto run = [&](std::int64_t count) {  // of one channel's items, as if that were all
    ConvolutionArguments a = given;
    a.division.items_of_channel = static_cast<int>(std::min<std::int64_t>(count, given.division.items_of_channel));
    a.channels = static_cast<int>(ratio_up(count, a.division.items_of_channel));
    a.batch = std::min(given.batch, a.division.items_of_channel * item_rows);
    part.give(a);
    return std::pair(run_block(part, 0, launch.cluster), std::int64_t{a.division.items_of_channel} * a.channels);
  };
  const auto [few, few_count] = run(kFewItems);
  const auto [many, count] = run(more);
  const Counters item = divided(less(many, few), 1, count - few_count);
  return plus(divided(less(few, divided(item, few_count, 1)), clusters, 1), divided(item, items, 1));
}

// Bytes of spectra, which each item of a channel reads.
double rereads_of_clusters(const Launch& launch) {
  const auto a = arguments_of<ConvolutionArguments>(launch);
  return 4. * key_of_cluster(launch).size() * a.channels * (a.division.items_of_channel - 1);
}

// Each of so many workers of a block, which with its cluster is one or has one in each warp, has as many items of a
// channel.
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

std::int64_t stages_of(const state::Arguments& a) {
  return ratio_up(std::min<std::int64_t>(a.part_length, a.length), a.layout.tuning.stage);
}

// A block has so many rows, or parts of rows, and takes them stage by stage; the last one may be a part of one.
Counters of_stages(const Launch& launch) {
  const auto given = arguments_of<state::Arguments>(launch);
  const std::int64_t stage = given.layout.tuning.stage, few = 2, more = few + more_items(given.aligned);
  const std::int64_t length = std::min<std::int64_t>(given.part_length, given.length), stages = stages_of(given);
  if (stages <= more) return of_sampled_blocks(launch);
  const auto rest = [&](std::int64_t samples) { return (samples - 1) % stage + 1; };  // of the last stage
  const std::int64_t last_part = given.length - (given.parts - 1) * given.part_length;
  Launch part = launch;
  const auto run = [&](std::int64_t count) {
    state::Arguments a = given;
    const std::int64_t whole = (count - 1) * stage;
    a.part_length = whole + rest(length);
    a.length = static_cast<int>((given.parts - 1) * a.part_length + whole + std::min(rest(length), rest(last_part)));
    part.give(a);
    return of_sampled_blocks(part);
  };
  const Counters some = run(few);
  return plus(some, divided(less(run(more), some), stages - few, more - few));
}

// What blocks of a spectral layer take in turn; of all else blocks themselves.
std::int64_t units_of(const Launch& launch) {
  if (launch.kernel.family != mix::Family::name) return launch.blocks;
  const bool in_turn = mix::kLines[launch.kernel.line].stage != mix::Stage::arrange;
  return in_turn ? std::max<std::int64_t>(arguments_of<mix::Arguments>(launch).units, launch.blocks) : launch.blocks;
}

// Some units stand for all; what a block has besides is what it has without any.
Counters of_units(const Launch& launch) {
  const std::int64_t units = units_of(launch);
  Launch some = launch;
  some.blocks = units;
  const Counters all = of_sampled_blocks(some);
  if (units == launch.blocks) return all;
  auto none = arguments_of<mix::Arguments>(launch);
  none.units = 0;
  some.give(none);
  const Counters besides = run_block(some, 0, launch.blocks);
  return plus(less(all, divided(besides, units, 1)), divided(besides, launch.blocks, 1));
}

// Of ordinary data, of which nothing is computed once more: memory that is only counted has no energy.
Launch without_doubts(const Launch& launch) {
  if (launch.kernel.family != rescaled::Family::name) return launch;
  auto a = arguments_of<rescaled::Arguments>(launch);
  a.least_energy = a.least_share = 0;
  Launch ordinary = launch;
  ordinary.give(a);
  return ordinary;
}

// The launch of a fused kernel as a case of its own, by the same kernel.
Convolution problem_of(const Launch& launch, const Variant& variant, const Case& asked) {
  if (variant.size == 0) return *asked.as<Convolution>();
  const auto a = arguments_of<ConvolutionArguments>(launch);
  Convolution p;
  p.dtype = variant.dtype;
  p.mode = variant.wraps() && a.length == variant.size ? Mode::circular : Mode::causal;
  p.batch = a.batch, p.channels = a.channels, p.length = a.length, p.filter_length = 1;
  p.pregate = a.pregate, p.postgate = a.postgate;
  if (variant.sparse) p.mask = asked.as<Convolution>()->mask;
  return planned(p, variant);
}

// The device, with memory for any case, and launches that are only counted.
class CountingMachine final : public Machine {
 public:
  // `executes`: kernels that the build has not are refused.
  CountingMachine(Case asked, Device device, std::int64_t concurrent, bool executes = true)
      : asked_(std::move(asked)), device_(std::move(device)), concurrent_(concurrent), executes_(executes) {}

  const Device& device() const override { return device_; }
  bool has(const KernelId& kernel) const override { return host_kernel(kernel) != nullptr; }
  std::int64_t concurrent_blocks(const KernelId& kernel, Path, int threads, int shared_bytes) const override {
    if (executes_ && !has(kernel))
      fail("count: this build has not the kernel ", kernel.family, ' ', kernel.line, '.', kernel.instance);
    if (concurrent_ > 0) return concurrent_;
    return blocks_at_once(kernel, device_, threads, shared_bytes);
  }
  std::int64_t concurrent_clusters(const KernelId& kernel, Path path, int threads, int shared_bytes,
                                   int cluster) const override {
    const std::int64_t blocks = concurrent_blocks(kernel, path, threads, shared_bytes);
    return concurrent_ > 0 ? concurrent_ : std::max<std::int64_t>(blocks / cluster, 1);
  }
  TensorMap make_tensor_map(const TensorShape& shape, const void* data) const override {
    return executor_tensor_map(shape, data);
  }

  std::shared_ptr<void> allocate(std::int64_t bytes) const override { return reserve(bytes); }
  std::shared_ptr<void> upload(const void* values, std::int64_t bytes) const override {
    auto memory = reserve(bytes);
    if (bytes > 0) std::memcpy(memory.get(), values, static_cast<std::size_t>(bytes));
    return memory;
  }
  void copy_from_host(void*, const void*, std::int64_t) const override {}
  void copy_to_host(void*, const void*, std::int64_t) const override {}
  void copy(void*, const void*, std::int64_t, Stream) const override {}
  bool is_host_memory(const char*, const char*, const void*) const override { return false; }
  std::uint64_t stream_id(Stream) const override { return 0; }
  std::uint64_t capture_id(Stream) const override { return 0; }
  void synchronize(Stream) const override {}
  void synchronize() const override {}
  void check_stream(const char*, Stream) const override {}

  void launch(const Launch& launch, Stream) const override {
    const std::string known = words_of(launch);
    const auto found = std::ranges::find(known_, known);
    if (found != known_.end() && works_[found - known_.begin()].prepares == prepares_) {
      ++works_[found - known_.begin()].times;
      return;
    }
    known_.push_back(known);
    works_.push_back(work_of(launch));
  }

  // What launches belong to, and memory that they hand over or that each block reads all of.
  void begin(bool prepares, std::span<const std::byte> workspace, std::span<const std::byte> prepared) {
    prepares_ = prepares, workspace_ = workspace, prepared_ = prepared;
  }
  std::vector<LaunchWork> take() { return std::move(works_); }

 private:
  static bool is_in(std::span<const std::byte> memory, const Region& region) {
    const auto* begin = static_cast<const std::byte*>(region.data);
    return begin >= memory.data() && begin < memory.data() + memory.size();
  }

  // Fused, of planes between outer passes: what it reads is where it writes.
  static bool is_in_place(const Launch& launch) {
    if (!variant_of(launch.kernel)) return false;
    const auto a = arguments_of<ConvolutionArguments>(launch);
    return a.u == a.y;
  }

  // The same for launches that differ in their channels alone.
  static std::string words_of(const Launch& launch) {
    std::string words = text(launch.description, ' ', launch.kernel.family, ' ', launch.kernel.line, ' ',
                             launch.kernel.instance, ' ', int(launch.path), ' ', launch.blocks);
    for (int i = 0; i < launch.region_count; ++i)
      words += text(' ', launch.regions[i].name, ' ', launch.regions[i].bytes, launch.regions[i].written);
    return words;
  }

  LaunchWork work_of(const Launch& launch) const {
    LaunchWork work;
    work.id = launch.kernel, work.path = launch.path, work.prepares = prepares_;
    work.kernel = launch.kernel.family, work.phased = is_phased(launch.kernel);
    work.ahead = brings_ahead(launch);
    work.waits = is_of_layers(launch.kernel) && !prepares_ ? kWaitsOfLayer : 0;
    work.blocks = launch.blocks, work.threads = launch.threads, work.shared_bytes = launch.shared_bytes;
    work.concurrent = concurrent_blocks(launch.kernel, launch.path, launch.threads, launch.shared_bytes);
    const std::int64_t units = units_of(launch);
    const std::int64_t at_once = units > launch.blocks ? launch.blocks : device_.multiprocessors;
    work.imbalance = static_cast<double>(ratio_up(units, at_once) * at_once) / static_cast<double>(units);
    count_bytes(launch, work);
    const Variant* variant = variant_of(launch.kernel);
    const double warps = launch.threads / 32;
    if (variant && (variant->size > 0 || asked_.as<Convolution>())) {
      count_fused(launch, *variant, work);
    } else if (launch.kernel.family == outer::Family::name) {
      work.counters = of_outer_pass(launch);
      const auto a = arguments_of<outer::Arguments>(launch);
      const outer::Layout layout = layout_of_outer(launch);
      work.turns = warps * a.channel_count * ratio_up(a.batch, layout.item_rows) * (a.columns / layout.tile_columns);
    } else if (launch.kernel.family == cluster::Family::name) {
      work.counters = of_clusters(launch);
      work.l2_bytes += rereads_of_clusters(launch);
      const auto a = arguments_of<ConvolutionArguments>(launch);
      work.turns = warps * launch.cluster * a.division.items_of_channel * a.channels;
    } else if (launch.kernel.family == correlate_chain::Family::name) {
      work.counters = of_sums(launch, item_rows_of<correlate_chain::Family>(launch.kernel), launch.threads / 32);
      work.turns = items_of_sums(launch);
    } else if (launch.kernel.family == correlate_exchange::Family::name) {
      work.counters = of_sums(launch, item_rows_of<correlate_exchange::Family>(launch.kernel), 1);
      work.turns = warps * launch.cluster * items_of_sums(launch);
    } else if (is_of_stages(launch.kernel)) {
      work.counters = of_stages(launch);
      work.turns = warps * static_cast<double>(launch.blocks * stages_of(arguments_of<state::Arguments>(launch)));
    } else {
      work.counters = of_units(without_doubts(launch));
      work.turns = warps * static_cast<double>(units);
      const host::Counters& n = work.counters;  // of what is prepared a launch may read a part
      const auto touched = static_cast<double>(kSectorBytes * (n.global_load_sectors + n.global_store_sectors) +
                                               n.bulk_load_bytes + n.bulk_store_bytes);
      work.l2_bytes = std::min(work.l2_bytes, touched), work.hbm_bytes = std::min(work.hbm_bytes, touched);
      if (launch.kernel.family == rescaled::Family::name) work.hbm_bytes = 0;  // energies, which L2 has
    }
    return work;
  }
  static bool is_of_stages(const KernelId& id) {
    if (id.family != state::Family::name) return false;
    return state::is_product(state::Family::instances(id.line).list[id.instance].key.work);
  }
  static double items_of_sums(const Launch& launch) {
    const auto a = arguments_of<CorrelationArguments>(launch).rows;
    return static_cast<double>(a.division.items_of_channel) * a.channels;
  }
  template <class Family>
  static int item_rows_of(const KernelId& id) {
    return Family::instances(id.line).list[id.instance].key.pair ? 2 : 1;
  }

  // Of a fused kernel, that its rows have; regions span what lies between them too.
  double bytes_of_rows(const Launch& launch) const {
    const Variant* variant = variant_of(launch.kernel);
    if (!variant || variant->size == 0) return std::numeric_limits<double>::infinity();
    const auto a = arguments_of<ConvolutionArguments>(launch);
    return 2. * a.batch * a.channels * a.length;
  }

  void count_bytes(const Launch& launch, LaunchWork& work) const {
    const double of_rows = bytes_of_rows(launch);
    for (int i = 0; i < launch.region_count; ++i) {
      const Region& region = launch.regions[i];
      if (region.constant) continue;
      auto bytes = static_cast<double>(region.bytes);
      if (!is_in(prepared_, region)) bytes = std::min(bytes, of_rows);
      const bool handed_over = is_in(workspace_, region);
      if (launch.kernel.family == outer::Family::name && !handed_over) {  // of all channels some
        const auto a = arguments_of<outer::Arguments>(launch);
        bytes *= static_cast<double>(a.channel_count) / a.channels;
      }
      if (region.written && is_in_place(launch)) bytes *= 2;
      const bool by_each_block = launch.kernel.family == mix::Family::name && is_in(prepared_, region);
      work.l2_bytes += bytes * (by_each_block && !region.written ? static_cast<double>(units_of(launch)) : 1);
      if (!handed_over || region.bytes > device_.cache_bytes / 2) work.hbm_bytes += bytes;
    }
  }

  void count_fused(const Launch& launch, const Variant& variant, LaunchWork& work) const {
    const Convolution problem = problem_of(launch, variant, asked_);
    const Extent extent = extent_of(problem, device_, work.concurrent);
    const Work parts = count_launch(problem, device_);
    work.kernel = variant.name;
    work.counters = parts.launch(extent);
    work.imbalance = imbalance(extent, work.concurrent);
    work.turns =
        static_cast<double>((extent.items + extent.half_items) * (launch.threads / 32)) / extent.workers_of_block;
    const auto spectrum =
        std::ranges::find(launch.regions.begin(), launch.regions.begin() + launch.region_count,
                          std::string_view("spectrum"), [](const Region& region) { return region.name; });
    const auto bytes = static_cast<double>(spectrum->bytes / problem.channels);
    work.l2_bytes += spectrum_rereads(variant, device_, parts, extent, bytes, problem.channels);
    work.waits = waits(variant, parts, extent, launch.path, bytes);
  }

  Case asked_;
  Device device_;
  std::int64_t concurrent_;
  bool executes_;
  bool prepares_ = false;
  std::span<const std::byte> workspace_, prepared_;
  mutable std::vector<std::string> known_;
  mutable std::vector<LaunchWork> works_;
};

std::span<const std::byte> bytes_of(const std::shared_ptr<void>& memory, std::int64_t size) {
  return {static_cast<const std::byte*>(memory.get()), static_cast<std::size_t>(size)};
}

// Without launches.
ProgramWork work_by(const Variant& v, const Device& device, std::int64_t prepared_bytes, std::int64_t workspace_bytes,
                    std::int64_t constant_bytes) {
  return {v.name, v.size,         v.factors,       v.shared_bytes, concurrent_blocks(v, device),
          {},     prepared_bytes, workspace_bytes, constant_bytes};
}

}  // namespace

Counters ProgramWork::sum(bool prepares) const {
  Counters all;
  for (const LaunchWork& each : launches)
    if (each.prepares == prepares) all += divided(each.counters, each.times, 1);
  return all;
}

ProgramWork measure_program(const Case& asked, const Device& device) {
  const CountingMachine machine(asked, device, 0, false);
  const Program program = make_program(asked, device, marks_of(asked));
  std::int64_t constant_bytes = 0;
  for (const auto* steps : {&program.prepare, &program.execute})
    for (const auto& step : *steps) step->fit(machine), constant_bytes += 4 * std::ssize(step->constants());
  const std::int64_t batch = batch_of(asked.arrays());
  return work_by(*program.variant, device, program.prepared_bytes,
                 std::max(workspace_bytes(program.prepare, batch), workspace_bytes(program.execute, batch)),
                 constant_bytes);
}

void visit_launches(const Case& asked, const Device& device, const LaunchVisitor& visit) {
  const CountingMachine machine(asked, device, 0, false);
  const Program program = make_program(asked, device, marks_of(asked));
  const std::int64_t batch = batch_of(asked.arrays());
  std::vector<std::shared_ptr<void>> memory;
  const auto room = [&](std::int64_t size) { return memory.emplace_back(reserve(size)).get(); };
  Call call{.batch = batch, .arrays = {}, .prepared = room(program.prepared_bytes), .workspace = nullptr};
  const std::vector<Array> arrays = asked.arrays();
  for (std::size_t i = 0; i < arrays.size(); ++i) call.arrays[i] = room(bytes(arrays[i].dtype) * arrays[i].size());
  std::int64_t needed = 0;
  for (const auto* steps : {&program.prepare, &program.execute}) {
    for (const auto& step : *steps) step->fit(machine);
    needed = std::max(needed, workspace_bytes(*steps, batch));
  }
  call.workspace = room(needed);
  for (const auto* steps : {&program.prepare, &program.execute})
    for (const auto& step : *steps) {
      const std::vector<std::uint32_t> constants = step->constants();
      std::span<const std::uint32_t> given = constants;
      step->bind(call, machine, constants, [&](const Launch& launch) { visit(launch, std::exchange(given, {})); });
    }
}

ProgramWork count_program(const Case& asked, const Device& device, std::int64_t concurrent) {
  const auto machine = std::make_shared<CountingMachine>(asked, device, concurrent);
  Plan plan(asked, machine, marks_of(asked));
  ProgramWork work =
      work_by(plan.variant(), device, plan.prepared_bytes(), plan.workspace_bytes(0), plan.constant_bytes());
  std::vector<std::shared_ptr<void>> memory;
  std::vector<Buffer> filters, others;
  for (const Array& array : asked.arrays()) {
    const std::int64_t size = bytes(array.dtype) * array.size();
    const auto& begin = memory.emplace_back(reserve(size));
    (array.role == Role::filter ? filters : others)
        .emplace_back(array.name, begin.get(), static_cast<std::size_t>(size));
  }
  const auto prepared = reserve(work.prepared_bytes), workspace = reserve(work.workspace_bytes);
  CallOptions options;
  options.prepared = prepared.get(), options.prepared_bytes = static_cast<std::size_t>(work.prepared_bytes);
  options.workspace = workspace.get(), options.workspace_bytes = static_cast<std::size_t>(work.workspace_bytes);
  const auto in_workspace = bytes_of(workspace, work.workspace_bytes);
  const auto in_prepared = bytes_of(prepared, work.prepared_bytes);
  machine->begin(true, in_workspace, in_prepared);
  plan.prepare(filters, options);
  machine->begin(false, in_workspace, in_prepared);
  plan.execute(others, options);
  work.launches = machine->take();
  return work;
}

void require_counted(const Case& asked, const Device& device) {
  Plan(asked, std::make_shared<CountingMachine>(asked, device, 0), marks_of(asked));
}

bool is_counted(const Case& asked, const Device& device) {
  try {
    require_counted(asked, device);
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

}  // namespace danaus
