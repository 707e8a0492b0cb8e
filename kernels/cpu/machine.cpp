#include "kernels/cpu/machine.hpp"

#include <atomic>
#include <cstring>
#include <stdexcept>

#include "kernels/cpu/blocks.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/known_memory.hpp"
#include "kernels/executor/aligned.hpp"
#include "kernels/executor/tensor_view.hpp"
#include "kernels/executor/witness.hpp"
#include "kernels/plan/arrays.hpp"

namespace danaus {
namespace {

// Each launch has an executor of its own, so that any number of threads may launch.
class ExecutorMachine final : public Machine {
 public:
  explicit ExecutorMachine(ExecutorOptions options) : options_(std::move(options)) {
    if (options_.blocks < 0)
      fail("executor: blocks=", options_.blocks, ", must be at least 1, or 0: as the device has");
    if (options_.whole_blocks < 0) fail("executor: whole_blocks=", options_.whole_blocks, ", must be at least 0");
  }

  const Device& device() const override { return options_.device; }
  bool has(const KernelId& kernel) const override { return host_kernel(kernel) != nullptr; }

  std::int64_t concurrent_blocks(const KernelId& kernel, Path, int threads, int shared_bytes) const override {
    if (!has(kernel))
      throw std::logic_error(text("executor: no kernel ", kernel.family, ' ', kernel.line, '.', kernel.instance));
    return options_.blocks > 0 ? options_.blocks : blocks_at_once(kernel, device(), threads, shared_bytes);
  }

  std::int64_t concurrent_clusters(const KernelId& kernel, Path path, int threads, int shared_bytes,
                                   int cluster) const override {
    const std::int64_t blocks = concurrent_blocks(kernel, path, threads, shared_bytes);
    return options_.blocks > 0 ? blocks : std::max<std::int64_t>(blocks / cluster, 1);
  }

  TensorMap make_tensor_map(const TensorShape& shape, const void* data) const override {
    return executor_tensor_map(shape, data);
  }

  std::shared_ptr<void> allocate(std::int64_t bytes) const override {
    if (used_->fetch_add(bytes) > options_.memory_bytes - bytes) {
      *used_ -= bytes;
      throw OutOfMemory(text("plan: ", bytes, " bytes of memory of ", device().name, " are needed, ",
                             options_.memory_bytes - *used_, " are free"));
    }
    const std::shared_ptr<void> counted(nullptr, [used = used_, bytes](void*) { *used -= bytes; });
    const auto array = std::make_shared<host::AlignedArray<unsigned char>>(bytes);
    known_->add(array->data(), bytes);
    return {array->data(), [array, counted, known = known_](void* data) { known->remove(data); }};
  }
  std::shared_ptr<void> upload(const void* values, std::int64_t bytes) const override {
    auto memory = allocate(bytes);
    if (bytes > 0) std::memcpy(memory.get(), values, static_cast<std::size_t>(bytes));
    return memory;
  }
  void copy_from_host(void* to, const void* from, std::int64_t bytes) const override { copy(to, from, bytes, nullptr); }
  void copy_to_host(void* to, const void* from, std::int64_t bytes) const override { copy(to, from, bytes, nullptr); }
  void copy(void* to, const void* from, std::int64_t bytes, Stream) const override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  bool is_host_memory(const char*, const char*, const void*) const override { return false; }
  std::uint64_t stream_id(Stream) const override { return 0; }
  std::uint64_t capture_id(Stream) const override { return 0; }
  void synchronize(Stream) const override {}
  void synchronize() const override {}
  void check_stream(const char* operation, Stream stream) const override {
    if (stream) fail(operation, ": a CUDA stream is given, but the plan is for the executor");
  }

  std::vector<bool> known_numbers(const void* data, std::int64_t count, int number_bytes) const {
    return known_->known(data, count, number_bytes);
  }

  void launch(const Launch& launch, Stream) const override {
    host::Launch how;
    how.order = options_.order, how.seed = options_.seed;
    how.description = text(launch.description,
                           launch.path == Path::threads     ? ", threads' copies, "
                           : launch.path == Path::enclosing ? ", enclosing copies, "
                           : launch.path == Path::overhang  ? ", enclosing copies of rows beyond N, "
                                                            : ", tensor copies, ",
                           "order ", int(options_.order), ", seed ", options_.seed);
    constexpr std::int64_t kOfElements = 8;  // as many blocks of a launch of single numbers as of others
    const std::int64_t times = work_division(launch).of_elements ? kOfElements : 1;
    const bool is_whole = ratio_up(launch.blocks, times) <= options_.whole_blocks;
    const std::vector<std::int64_t> blocks = is_whole ? all_blocks(launch) : differing_blocks(launch);
    const auto observer = known_->observe(launch, std::ssize(blocks) * launch.cluster == launch.blocks);
    const host::WitnessScope scope(observer.get());
    const host::Counters counters = run_blocks(launch, blocks, how, [&] {
      if (observer) observer->end_block();
    });
    if (observer) observer->end_launch();
    if (options_.observer) options_.observer(launch, counters);
  }

 private:
  ExecutorOptions options_;
  std::shared_ptr<KnownMemory> known_ = std::make_shared<KnownMemory>();
  std::shared_ptr<std::atomic<std::int64_t>> used_ = std::make_shared<std::atomic<std::int64_t>>(0);  // bytes
};

}  // namespace

Device h200() { return {.name = "executor (H200)", .cache_bytes = 60 << 20, .multiprocessors = 132}; }
Device h100() { return {.name = "executor (H100)", .multiprocessors = 132}; }
Device a100() {
  return {
      .name = "executor (A100)", .sm = 80, .block_bytes = 163 * 1024, .cache_bytes = 40 << 20, .multiprocessors = 108};
}

std::vector<bool> known_numbers(const Machine& machine, const void* data, std::int64_t count, int number_bytes) {
  const auto* executor = dynamic_cast<const ExecutorMachine*>(&machine);
  return executor ? executor->known_numbers(data, count, number_bytes) : std::vector<bool>();
}

TensorMap executor_tensor_map(const TensorShape& shape, const void* data) {
  host::TensorView view;
  view.base = const_cast<void*>(data);
  view.extent = shape.extent, view.box = shape.box;
  for (int d = 0; d < host::TensorView::kRank; ++d) view.stride_bytes[d] = 2 * shape.stride[d];
  return host::make_tensor_map(view);
}

std::shared_ptr<const Machine> executor_machine(ExecutorOptions options) {
  return std::make_shared<ExecutorMachine>(std::move(options));
}

}  // namespace danaus
