// Where a plan runs: a GPU, or the executor in its place.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/plan/errors.hpp"
#include "kernels/plan/program.hpp"

// The CUDA runtime's stream, so that a cudaStream_t is one without its headers.
struct CUstream_st;

namespace danaus {

using Stream = CUstream_st*;

class Machine {
 public:
  virtual ~Machine() = default;
  virtual const Device& device() const = 0;

  // Whether this build has the kernel's code for the machine, by the path that it would take there.
  virtual bool has(const KernelId& kernel) const = 0;
  // Blocks that run at once. Throws std::invalid_argument where not even one does.
  virtual std::int64_t concurrent_blocks(const KernelId& kernel, Path path, int threads, int shared_bytes) const = 0;
  // Clusters of so many blocks, after the same.
  virtual std::int64_t concurrent_clusters(const KernelId& kernel, Path path, int threads, int shared_bytes,
                                           int cluster) const = 0;
  virtual TensorMap make_tensor_map(const TensorShape& shape, const void* data) const = 0;

  // Memory of the machine; freed with the pointer. Throws OutOfMemory where there is not as much left.
  virtual std::shared_ptr<void> allocate(std::int64_t bytes) const = 0;
  // Values of the host, in memory of the machine for every stream when this returns.
  virtual std::shared_ptr<void> upload(const void* values, std::int64_t bytes) const = 0;
  // Between memory of the host and of the machine; done when they return, after all that was asked before.
  virtual void copy_from_host(void* to, const void* from, std::int64_t bytes) const = 0;
  virtual void copy_to_host(void* to, const void* from, std::int64_t bytes) const = 0;
  // Between memories of the machine.
  virtual void copy(void* to, const void* from, std::int64_t bytes, Stream stream) const = 0;
  // Another number for each stream that there ever was, the default ones included: a handle comes again. Not for a
  // stream that is captured.
  virtual std::uint64_t stream_id(Stream stream) const = 0;
  // Likewise of the capture that records the stream; 0 where none does.
  virtual std::uint64_t capture_id(Stream stream) const = 0;
  bool is_capturing(Stream stream) const { return capture_id(stream) != 0; }
  virtual void synchronize(Stream stream) const = 0;
  // Waits for everything that runs on the machine.
  virtual void synchronize() const = 0;

  // Throw unless the memory is the host's or where kernels can reach it; `what` names it.
  virtual bool is_host_memory(const char* operation, const char* what, const void* data) const = 0;
  // Throw unless kernels can reach the memory, and the stream is the machine's.
  void check_memory(const char* operation, const char* what, const void* data) const {
    if (is_host_memory(operation, what, data))
      fail(operation, ": ", what, " is in host memory, the plan is for ", device().name);
  }
  virtual void check_stream(const char* operation, Stream stream) const = 0;

  virtual void launch(const Launch& launch, Stream stream) const = 0;
};

// Of a kernel by a path, beginning where the stream's previous one leaves room if the machine can; what it touches and
// its arguments are for the caller to say. `description` outlives it.
inline Launch make_launch(const Machine& machine, std::string_view description, const KernelId& kernel, Path path,
                          std::int64_t blocks, int threads, int shared_bytes) {
  Launch launch;
  launch.description = description;
  launch.kernel = kernel, launch.path = path;
  launch.blocks = blocks, launch.threads = threads, launch.shared_bytes = shared_bytes;
  launch.overlapping = machine.device().sm >= 90;
  return launch;
}
// No temporary outlives it.
Launch make_launch(const Machine&, std::string&&, const KernelId&, Path, std::int64_t, int, int) = delete;

}  // namespace danaus
