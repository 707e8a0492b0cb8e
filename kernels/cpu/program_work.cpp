#include "kernels/cpu/program_work.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "kernels/cpu/blocks.hpp"
#include "kernels/cpu/family_work.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/executor/operations.hpp"
#include "kernels/plan/arrays.hpp"
#include "kernels/plan/machine.hpp"
#include "kernels/plan/plan.hpp"
#include "kernels/plan/registry.hpp"
#include "reference/convolution/mask.hpp"
#include "reference/gated/gated.hpp"

namespace danaus {
namespace {

using host::Counters;

constexpr std::int64_t kPage = 4096;

// Zeros, of which only pages that are written take memory.
std::shared_ptr<void> reserve(std::int64_t bytes) {
  const std::size_t size = static_cast<std::size_t>(ratio_up(std::max<std::int64_t>(bytes, 1), kPage) * kPage);
  void* const begin = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) throw std::bad_alloc();
  return {begin, [size](void* memory) { ::munmap(memory, size); }};
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
    const FamilyWork& family = family_work(launch.kernel.family);
    work.kernel = launch.kernel.family, work.phased = family.is_phased();
    work.ahead = family.brings_ahead(launch), work.waits = prepares_ ? 0 : family.waits();
    work.blocks = launch.blocks, work.threads = launch.threads, work.shared_bytes = launch.shared_bytes;
    work.concurrent = concurrent_blocks(launch.kernel, launch.path, launch.threads, launch.shared_bytes);
    const std::int64_t units = family.units(launch);
    const std::int64_t at_once = units > launch.blocks ? launch.blocks : device_.multiprocessors;
    work.imbalance = static_cast<double>(ratio_up(units, at_once) * at_once) / static_cast<double>(units);
    count_bytes(launch, work);
    const Variant* variant = variant_of(launch.kernel);
    if (variant && (variant->size > 0 || asked_.as<Convolution>()))
      count_fused(launch, *variant, work);
    else
      family.count(launch, work);
    return work;
  }

  // Of a fused kernel, that its rows have; regions span what lies between them too.
  double bytes_of_rows(const Launch& launch) const {
    const Variant* variant = variant_of(launch.kernel);
    if (!variant || variant->size == 0) return std::numeric_limits<double>::infinity();
    const auto a = arguments_of<ConvolutionArguments>(launch);
    return 2. * a.batch * a.channels * a.length;
  }

  void count_bytes(const Launch& launch, LaunchWork& work) const {
    const FamilyWork& family = family_work(launch.kernel.family);
    const double of_rows = bytes_of_rows(launch);
    for (int i = 0; i < launch.region_count; ++i) {
      const Region& region = launch.regions[i];
      if (region.constant) continue;
      auto bytes = static_cast<double>(region.bytes);
      if (!is_in(prepared_, region)) bytes = std::min(bytes, of_rows);
      const bool handed_over = is_in(workspace_, region);
      if (!handed_over) bytes *= family.share_of_arrays(launch);
      if (region.written && is_in_place(launch)) bytes *= 2;
      const bool by_each_block = family.reads_prepared_for_each_unit() && is_in(prepared_, region);
      work.l2_bytes += bytes * (by_each_block && !region.written ? static_cast<double>(family.units(launch)) : 1);
      if (!handed_over || region.bytes > device_.cache_bytes / 2) work.hbm_bytes += bytes;
    }
  }

  void count_fused(const Launch& launch, const Variant& variant, LaunchWork& work) const {
    const Convolution problem = problem_of(launch, variant, asked_);
    const auto filtered = [this](const Convolution& p) {
      GatedConvolution gated = *asked_.as<GatedConvolution>();
      gated.conv.batch = p.batch, gated.conv.channels = p.channels, gated.skip = false;
      return Case(gated);
    };
    const Extent extent = variant.filtered ? extent_of(problem, variant, device_, work.concurrent)
                                           : extent_of(problem, device_, work.concurrent);
    const Work parts =
        variant.filtered ? count_launch(problem, variant, device_, filtered) : count_launch(problem, device_);
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
