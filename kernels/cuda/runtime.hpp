// The CUDA runtime with errors as exceptions and handles that free themselves.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <ranges>
#include <sstream>
#include <utility>

#include "kernels/plan/errors.hpp"

namespace danaus {

// Throws unless the call succeeded: DANAUS_CUDA(cudaMalloc(&data, bytes)).
#define DANAUS_CUDA(call) ::danaus::check_cuda((call), #call, __FILE__, __LINE__)

inline void check_cuda(cudaError_t error, const char* call, const char* file, int line) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // the next call shall not report this one's error
  std::ostringstream message;
  message << file << ':' << line << ": " << call << ": " << cudaGetErrorName(error) << " (" << cudaGetErrorString(error)
          << ')';
  throw CudaError(message.str());
}

// Makes a device the calling thread's current one for as long as it lives. Where it is that already, as for most
// callers, nothing is set: that costs more than to ask. But once in each thread, whose device is current by name alone
// before anybody sets it: the driver's own functions then have no context.
class DeviceScope {
 public:
  explicit DeviceScope(int ordinal) : ordinal_(ordinal) {
    thread_local int set = -1;
    DANAUS_CUDA(cudaGetDevice(&before_));
    if (before_ != ordinal_ || set != ordinal_) DANAUS_CUDA(cudaSetDevice(ordinal_));
    set = ordinal_;
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  ~DeviceScope() {
    if (before_ != ordinal_) cudaSetDevice(before_);
  }

 private:
  int ordinal_, before_ = 0;
};

// Memory of the device that is current at its construction.
template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::int64_t count) : count_(count) {
    if (count > 0) DANAUS_CUDA(cudaMalloc(reinterpret_cast<void**>(&data_), bytes()));
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_), std::swap(count_, other.count_);
    return *this;
  }
  ~DeviceBuffer() { cudaFree(data_); }

  T* data() const { return data_; }
  std::int64_t size() const { return count_; }
  std::size_t bytes() const { return sizeof(T) * static_cast<std::size_t>(count_); }

 private:
  T* data_ = nullptr;
  std::int64_t count_ = 0;
};

// Host values, on the device for every stream when this returns: the end of a copy from pageable memory may still be on
// its way when cudaMemcpy returns, and streams that do not wait for the default one would overtake it.
template <std::ranges::contiguous_range Values>
auto uploaded(const Values& values) {
  DeviceBuffer<std::ranges::range_value_t<Values>> buffer(std::ranges::ssize(values));
  DANAUS_CUDA(cudaMemcpy(buffer.data(), std::ranges::data(values), buffer.bytes(), cudaMemcpyHostToDevice));
  DANAUS_CUDA(cudaStreamSynchronize(nullptr));
  return buffer;
}

class CudaStream {
 public:
  CudaStream() { DANAUS_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  ~CudaStream() { cudaStreamDestroy(stream_); }
  operator cudaStream_t() const { return stream_; }
  void synchronize() const { DANAUS_CUDA(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

// What a function launches on a stream, once captured, to be launched again.
class CudaGraph {
 public:
  template <class Launch>
  CudaGraph(cudaStream_t stream, Launch launch) {
    cudaGraph_t graph = nullptr;
    DANAUS_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    try {
      launch(stream);
    } catch (...) {
      cudaStreamEndCapture(stream, &graph);
      if (graph) cudaGraphDestroy(graph);
      throw;
    }
    DANAUS_CUDA(cudaStreamEndCapture(stream, &graph));
    const cudaError_t error = cudaGraphInstantiate(&executable_, graph, 0);
    cudaGraphDestroy(graph);
    DANAUS_CUDA(error);
  }
  CudaGraph(CudaGraph&& other) noexcept : executable_(std::exchange(other.executable_, nullptr)) {}
  CudaGraph& operator=(CudaGraph&& other) noexcept {
    std::swap(executable_, other.executable_);
    return *this;
  }
  ~CudaGraph() {
    if (executable_) cudaGraphExecDestroy(executable_);
  }
  void launch(cudaStream_t stream) const { DANAUS_CUDA(cudaGraphLaunch(executable_, stream)); }

 private:
  cudaGraphExec_t executable_ = nullptr;
};

class CudaEvent {
 public:
  CudaEvent() { DANAUS_CUDA(cudaEventCreate(&event_)); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  ~CudaEvent() { cudaEventDestroy(event_); }
  operator cudaEvent_t() const { return event_; }
  void record(cudaStream_t stream) const { DANAUS_CUDA(cudaEventRecord(event_, stream)); }
  // Waits for this event.
  double microseconds_since(const CudaEvent& start) const {
    float milliseconds = 0;
    DANAUS_CUDA(cudaEventSynchronize(event_));
    DANAUS_CUDA(cudaEventElapsedTime(&milliseconds, start.event_, event_));
    return 1e3 * milliseconds;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace danaus
