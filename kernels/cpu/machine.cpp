#include "kernels/cpu/machine.hpp"

#include <atomic>
#include <cstring>
#include <stdexcept>

#include "kernels/cpu/kernels.hpp"
#include "kernels/executor/aligned.hpp"
#include "kernels/executor/tensor_view.hpp"

namespace danaus {
namespace {

// Each launch has an executor of its own, so that any number of threads may launch.
class ExecutorMachine final : public Machine {
 public:
  explicit ExecutorMachine(ExecutorOptions options) : options_(std::move(options)) {
    if (options_.blocks < 1) fail("executor: blocks=", options_.blocks, ", must be at least 1");
  }

  const Device& device() const override { return options_.device; }
  bool has(const KernelId& kernel) const override { return host_kernel(kernel) != nullptr; }

  std::int64_t concurrent_blocks(const KernelId& kernel, Path, int, int) const override {
    if (!has(kernel))
      throw std::logic_error(text("executor: no kernel ", kernel.family, ' ', kernel.line, '.', kernel.instance));
    return options_.blocks;
  }

  std::int64_t concurrent_clusters(const KernelId& kernel, Path path, int threads, int shared_bytes,
                                   int) const override {
    return concurrent_blocks(kernel, path, threads, shared_bytes);
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
    return {array->data(), [array, counted](void*) {}};
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

  void launch(const Launch& launch, Stream) const override {
    host::Executor executor;
    for (int i = 0; i < launch.region_count; ++i) {
      const Region& region = launch.regions[i];
      executor.declare(region.name, region.data, static_cast<std::size_t>(region.bytes), region.written,
                       !region.constant);
    }
    const HostKernel run = host_kernel(launch.kernel);
    if (!run) throw std::logic_error("executor: a kernel that this build has not");
    host::Launch on;
    on.blocks = static_cast<int>(launch.blocks), on.threads = launch.threads, on.shared_bytes = launch.shared_bytes;
    on.cluster = launch.cluster, on.order = options_.order, on.seed = options_.seed;
    on.description = text(launch.description,
                          launch.path == Path::threads     ? ", threads' copies, "
                          : launch.path == Path::enclosing ? ", enclosing copies, "
                          : launch.path == Path::overhang  ? ", enclosing copies of rows beyond N, "
                                                           : ", tensor copies, ",
                          launch.blocks, " blocks, order ", int(options_.order), ", seed ", options_.seed);
    const host::Counters counters = executor.run(on, [&] { run(launch.arguments.data()); });
    if (options_.observer) options_.observer(launch, counters);
  }

 private:
  ExecutorOptions options_;
  std::shared_ptr<std::atomic<std::int64_t>> used_ = std::make_shared<std::atomic<std::int64_t>>(0);  // bytes
};

}  // namespace

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
