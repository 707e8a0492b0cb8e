// A machine that is another, but for what a class that inherits it changes.
#pragma once

#include <memory>
#include <utility>

#include "kernels/plan/machine.hpp"

namespace danaus {

class ForwardingMachine : public Machine {
 public:
  explicit ForwardingMachine(std::shared_ptr<const Machine> on) : on_(std::move(on)) {}

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
  void copy(void* to, const void* from, std::int64_t bytes, Stream stream) const override {
    on_->copy(to, from, bytes, stream);
  }
  std::uint64_t stream_id(Stream stream) const override { return on_->stream_id(stream); }
  std::uint64_t capture_id(Stream stream) const override { return on_->capture_id(stream); }
  void synchronize(Stream stream) const override { on_->synchronize(stream); }
  void synchronize() const override { on_->synchronize(); }
  bool is_host_memory(const char* operation, const char* what, const void* data) const override {
    return on_->is_host_memory(operation, what, data);
  }
  void check_stream(const char* operation, Stream stream) const override { on_->check_stream(operation, stream); }
  void launch(const Launch& launch, Stream stream) const override { on_->launch(launch, stream); }

 private:
  std::shared_ptr<const Machine> on_;
};

}  // namespace danaus
