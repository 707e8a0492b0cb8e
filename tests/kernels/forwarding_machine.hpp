// The executor behind a machine of which a test changes some answers.
#pragma once

#include <memory>

#include "kernels/cpu/machine.hpp"

namespace danaus {

class ForwardingMachine : public Machine {
 public:
  explicit ForwardingMachine(ExecutorOptions options = {}) : on_(executor_machine(std::move(options))) {}

  const Device& device() const override { return on_->device(); }
  bool has(const KernelId& kernel) const override { return on_->has(kernel); }
  std::int64_t concurrent_blocks(const KernelId& kernel, Path path, int threads, int bytes) const override {
    return on_->concurrent_blocks(kernel, path, threads, bytes);
  }
  std::int64_t concurrent_clusters(const KernelId& kernel, Path path, int threads, int bytes, int size) const override {
    return on_->concurrent_clusters(kernel, path, threads, bytes, size);
  }
  TensorMap make_tensor_map(const TensorShape& shape, const void* data) const override {
    return on_->make_tensor_map(shape, data);
  }
  std::shared_ptr<void> allocate(std::int64_t bytes) const override { return on_->allocate(bytes); }
  std::shared_ptr<void> upload(const void* values, std::int64_t bytes) const override {
    return on_->upload(values, bytes);
  }
  void copy_from_host(void* to, const void* from, std::int64_t bytes) const override {
    on_->copy_from_host(to, from, bytes);
  }
  void copy_to_host(void* to, const void* from, std::int64_t bytes) const override {
    on_->copy_to_host(to, from, bytes);
  }
  void copy(void* to, const void* from, std::int64_t bytes, Stream) const override {
    on_->copy(to, from, bytes, nullptr);
  }
  std::uint64_t stream_id(Stream) const override { return 0; }
  std::uint64_t capture_id(Stream) const override { return 0; }
  void synchronize(Stream) const override {}
  void synchronize() const override {}
  bool is_host_memory(const char*, const char*, const void*) const override { return false; }
  void check_stream(const char*, Stream) const override {}
  void launch(const Launch& launch, Stream) const override { on_->launch(launch, nullptr); }

 private:
  std::shared_ptr<const Machine> on_;
};

}  // namespace danaus
