#include "kernels/cuda/machine.hpp"

#include <cudaTypedefs.h>

#include <algorithm>
#include <cstring>

#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/map_cache.hpp"
#include "kernels/cuda/runtime.hpp"

namespace danaus {
namespace {

static_assert(sizeof(CUtensorMap) == sizeof(TensorMap) && alignof(CUtensorMap) <= alignof(TensorMap));

// By the runtime, so that nothing links with the driver.
PFN_cuTensorMapEncodeTiled_v12000 tensor_map_encoder() {
  static const auto kEncode = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found;
    DANAUS_CUDA(
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found));
    if (found != cudaDriverEntryPointSuccess) throw CudaError("the driver has no cuTensorMapEncodeTiled");
    return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
  }();
  return kEncode;
}

// While it lives, the calling thread may allocate, free and copy though another thread captures a stream. The capture
// goes on, since nothing of that is on the captured stream.
class BesideCaptures {
 public:
  BesideCaptures() { exchange(); }
  BesideCaptures(const BesideCaptures&) = delete;
  BesideCaptures& operator=(const BesideCaptures&) = delete;
  ~BesideCaptures() { exchange(); }

 private:
  void exchange() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

// What allocates, frees and copies on a device.
class HostWork {
 public:
  explicit HostWork(int ordinal) : device_(ordinal) {}

 private:
  DeviceScope device_;
  BesideCaptures captures_;
};

class CudaMachine final : public Machine {
 public:
  CudaMachine(int ordinal, int multiprocessors) : ordinal_(ordinal) {
    cudaDeviceProp properties;
    DANAUS_CUDA(cudaGetDeviceProperties(&properties, ordinal));
    device_.name = properties.name, device_.ordinal = ordinal;
    device_.sm = 10 * properties.major + properties.minor;
    device_.block_bytes = static_cast<int>(properties.sharedMemPerBlockOptin);
    device_.cache_bytes = properties.l2CacheSize;
    device_.multiprocessors = multiprocessors > 0 ? multiprocessors : properties.multiProcessorCount;
  }

  const Device& device() const override { return device_; }

  bool has(const KernelId& kernel) const override { return cuda_kernels(kernel).of(Path::threads) != nullptr; }

  // Lets the kernel have its shared memory.
  std::int64_t concurrent_blocks(const KernelId& id, Path path, int threads, int shared_bytes) const override {
    const HostWork work(ordinal_);
    const void* kernel = cuda_kernels(id).of(path);
    cudaFuncAttributes code;
    const cudaError_t error = kernel ? cudaFuncGetAttributes(&code, kernel) : cudaErrorInvalidDeviceFunction;
    if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction) {
      cudaGetLastError();
      fail("plan: this build has no code of the kernel ", id.family, ' ', id.line, '.', id.instance, " for ",
           device_.name, " (sm_", device_.sm,
           "); DANAUS_CUDA_ARCHITECTURES names the architectures, DANAUS_ALL=ON compiles every kernel for them");
    }
    DANAUS_CUDA(error);
    DANAUS_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    int per_multiprocessor = 0;
    DANAUS_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, kernel, threads, shared_bytes));
    if (per_multiprocessor == 0)
      fail("plan: a block of ", threads, " threads and ", shared_bytes, " bytes of shared memory does not fit on ",
           device_.name);
    return std::int64_t{per_multiprocessor} * device_.multiprocessors;
  }

  // What the GPU's groups of multiprocessors have room for, which is less than its multiprocessors have.
  std::int64_t concurrent_clusters(const KernelId& id, Path path, int threads, int shared_bytes,
                                   int cluster) const override {
    const std::int64_t blocks = concurrent_blocks(id, path, threads, shared_bytes);
    const HostWork work(ordinal_);
    const void* kernel = cuda_kernels(id).of(path);
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
    cudaLaunchConfig_t config{};
    config.gridDim = static_cast<unsigned>(cluster), config.blockDim = static_cast<unsigned>(threads);
    config.dynamicSmemBytes = static_cast<std::size_t>(shared_bytes);
    config.attrs = &attribute, config.numAttrs = 1;
    int clusters = 0;
    DANAUS_CUDA(cudaOccupancyMaxActiveClusters(&clusters, kernel, &config));
    if (clusters == 0)
      fail("plan: a cluster of ", cluster, " blocks of ", threads, " threads and ", shared_bytes,
           " bytes of shared memory does not fit on ", device_.name);
    return std::clamp<std::int64_t>(blocks / cluster, 1, clusters);
  }

  TensorMap make_tensor_map(const TensorShape& shape, const void* data) const override {
    thread_local MapCache made;
    return made.get(shape, data, [this](const TensorShape& of, const void* at) { return encode(of, at); });
  }

  TensorMap encode(const TensorShape& shape, const void* data) const {
    const DeviceScope scope(ordinal_);
    constexpr int kRank = 5;
    cuuint64_t extent[kRank], stride_bytes[kRank - 1];
    cuuint32_t box[kRank], step[kRank];
    for (int d = 0; d < kRank; ++d) extent[d] = shape.extent[d], box[d] = shape.box[d], step[d] = 1;
    for (int d = 1; d < kRank; ++d) stride_bytes[d - 1] = 2 * shape.stride[d];
    CUtensorMap encoded;
    const CUresult result =
        tensor_map_encoder()(&encoded, CU_TENSOR_MAP_DATA_TYPE_UINT16, kRank, const_cast<void*>(data), extent,
                             stride_bytes, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                             CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result != CUDA_SUCCESS) throw CudaError(text(__FILE__, ':', __LINE__, ": cuTensorMapEncodeTiled: ", result));
    TensorMap map;
    std::memcpy(&map, &encoded, sizeof(map));
    return map;
  }

  std::shared_ptr<void> allocate(std::int64_t bytes) const override {
    const HostWork work(ordinal_);
    void* memory = nullptr;
    const cudaError_t error = cudaMalloc(&memory, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)));
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      std::size_t left = 0, total = 0;
      DANAUS_CUDA(cudaMemGetInfo(&left, &total));
      throw OutOfMemory(
          text("plan: ", bytes, " bytes of memory of ", device_.name, " are needed, ", left, " are free"));
    }
    DANAUS_CUDA(error);
    return {memory, [ordinal = ordinal_](void* data) { free(ordinal, data); }};
  }
  std::shared_ptr<void> upload(const void* values, std::int64_t bytes) const override {
    auto memory = allocate(bytes);
    copy_at_once(memory.get(), values, bytes, cudaMemcpyHostToDevice);
    return memory;
  }
  void copy_from_host(void* to, const void* from, std::int64_t bytes) const override {
    synchronize();
    copy_at_once(to, from, bytes, cudaMemcpyHostToDevice);
  }
  void copy_to_host(void* to, const void* from, std::int64_t bytes) const override {
    synchronize();
    copy_at_once(to, from, bytes, cudaMemcpyDeviceToHost);
  }
  void copy(void* to, const void* from, std::int64_t bytes, Stream stream) const override {
    const DeviceScope scope(ordinal_);
    DANAUS_CUDA(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, stream));
  }
  std::uint64_t stream_id(Stream stream) const override {
    const DeviceScope scope(ordinal_);
    unsigned long long id = 0;
    DANAUS_CUDA(cudaStreamGetId(stream, &id));
    return id;
  }
  std::uint64_t capture_id(Stream stream) const override {
    const DeviceScope scope(ordinal_);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long id = 0;
    const cudaError_t error = cudaStreamGetCaptureInfo(stream, &status, &id);
    if (error == cudaErrorStreamCaptureImplicit) {
      cudaGetLastError();
      fail("stream: the default stream is given while a stream that waits for it is captured; give another stream");
    }
    DANAUS_CUDA(error);
    return status == cudaStreamCaptureStatusNone ? 0 : id;
  }
  void synchronize(Stream stream) const override {
    const HostWork work(ordinal_);
    DANAUS_CUDA(cudaStreamSynchronize(stream));
  }
  void synchronize() const override {
    const HostWork work(ordinal_);
    DANAUS_CUDA(cudaDeviceSynchronize());
  }

  bool is_host_memory(const char* operation, const char* what, const void* data) const override {
    const DeviceScope scope(ordinal_);
    cudaPointerAttributes memory;
    DANAUS_CUDA(cudaPointerGetAttributes(&memory, data));
    if (memory.type == cudaMemoryTypeDevice && memory.device != ordinal_)
      fail(operation, ": ", what, " is on CUDA device ", memory.device, ", the plan is for device ", ordinal_);
    return memory.type == cudaMemoryTypeUnregistered || memory.type == cudaMemoryTypeHost;
  }

  void check_stream(const char* operation, Stream stream) const override {
    const DeviceScope scope(ordinal_);
    int ordinal = ordinal_;
    if (is_capturing(stream)) return;  // where CUDA does not say of which device it is
    if (stream) DANAUS_CUDA(cudaStreamGetDevice(stream, &ordinal));
    if (ordinal != ordinal_)
      fail(operation, ": the stream is of CUDA device ", ordinal, ", the plan is for device ", ordinal_);
  }

  void launch(const Launch& launch, Stream stream) const override {
    const DeviceScope scope(ordinal_);
    cudaLaunchAttribute attributes[2]{};
    unsigned count = 0;
    if (launch.overlapping) {
      attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
      attributes[count++].val.programmaticStreamSerializationAllowed = 1;
    }
    if (launch.cluster > 1) {
      attributes[count].id = cudaLaunchAttributeClusterDimension;
      attributes[count++].val.clusterDim = {static_cast<unsigned>(launch.cluster), 1, 1};
    }
    cudaLaunchConfig_t config{};
    config.gridDim = static_cast<unsigned>(launch.blocks), config.blockDim = static_cast<unsigned>(launch.threads);
    config.dynamicSmemBytes = static_cast<std::size_t>(launch.shared_bytes), config.stream = stream;
    config.attrs = attributes, config.numAttrs = count;
    void* list[] = {const_cast<std::byte*>(launch.arguments.data())};
    DANAUS_CUDA(cudaLaunchKernelExC(&config, cuda_kernels(launch.kernel).of(launch.path), list));
  }

 private:
  static void free(int ordinal, void* data) try {
    const HostWork work(ordinal);
    cudaFree(data);
  } catch (const CudaError&) {  // the process ends, and the driver has gone
  }
  // On a stream of its own: a captured stream may wait for the default one. A copy from pageable memory may return
  // before it is done, so the stream is waited for.
  void copy_at_once(void* to, const void* from, std::int64_t bytes, cudaMemcpyKind kind) const {
    const HostWork work(ordinal_);
    const CudaStream stream;
    DANAUS_CUDA(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), kind, stream));
    stream.synchronize();
  }

  int ordinal_;
  Device device_;
};

}  // namespace

int cuda_device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();  // no driver, or one that is too old for this runtime
  return 0;
}

std::shared_ptr<const Machine> cuda_machine(int ordinal, int multiprocessors) {
  const int count = cuda_device_count();
  if (ordinal < 0 || ordinal >= count)
    throw NoDevice(text("device: CUDA device ", ordinal, " is asked for; there are ", count));
  return std::make_shared<CudaMachine>(ordinal, multiprocessors);
}

}  // namespace danaus
