// Plans on a CUDA device.
#include <cudaTypedefs.h>

#include <bit>

#include "kernels/backend.hpp"
#include "kernels/cuda/runtime.hpp"
#include "kernels/launch.hpp"
#include "kernels/spectrum_table.hpp"

namespace danaus {
namespace {

template <Dtype T>
__global__ void __launch_bounds__(spectrum::kThreads)
    spectrum_kernel(const __grid_constant__ SpectrumArguments arguments) {
  filter_spectrum<T>(arguments);
}

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

TensorMap make_map(const TensorShape& shape, const void* data) {
  constexpr int kRank = 5;
  cuuint64_t extent[kRank], stride_bytes[kRank - 1];
  cuuint32_t box[kRank], step[kRank];
  for (int d = 0; d < kRank; ++d) extent[d] = shape.extent[d], box[d] = shape.box[d], step[d] = 1;
  for (int d = 1; d < kRank; ++d) stride_bytes[d - 1] = 2 * shape.stride[d];
  CUtensorMap map;
  const CUresult result =
      tensor_map_encoder()(&map, CU_TENSOR_MAP_DATA_TYPE_UINT16, kRank, const_cast<void*>(data), extent, stride_bytes,
                           box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                           CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    std::ostringstream message;
    message << __FILE__ << ':' << __LINE__ << ": cuTensorMapEncodeTiled: error " << result;
    throw CudaError(message.str());
  }
  return std::bit_cast<TensorMap>(map);
}

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(Setup setup) : s_(std::move(setup)) {
    const DeviceScope scope(s_.device.ordinal);
    const Variant& v = *s_.choice.variant;
    if (s_.device.has_tensor_copies()) blocks_.tensor = concurrent_blocks(v.cuda.tensor);
    blocks_.threads = concurrent_blocks(v.cuda.threads);
    tables_ = uploaded(s_.tables);
    spectrum_table_ = uploaded(s_.spectrum_table);
    spectrum_ = DeviceBuffer<u32>(s_.problem.channels * s_.size());
  }

  void check_memory(const char* operation, const char* what, const void* data) const override {
    const cudaPointerAttributes memory = attributes(data);
    if (is_host(memory)) fail(operation, ": ", what, " is in host memory, the plan is for ", s_.device.name);
    if (memory.type == cudaMemoryTypeDevice && memory.device != s_.device.ordinal)
      fail(operation, ": ", what, " is on CUDA device ", memory.device, ", the plan is for device ", s_.device.ordinal);
  }

  void check_stream(const char* operation, Stream stream) const override {
    const DeviceScope scope(s_.device.ordinal);
    int ordinal = s_.device.ordinal;
    if (stream) DANAUS_CUDA(cudaStreamGetDevice(stream, &ordinal));
    if (ordinal != s_.device.ordinal)
      fail(operation, ": the stream is of CUDA device ", ordinal, ", the plan is for device ", s_.device.ordinal);
  }

  std::optional<host::Counters> transform_filter(const float* k, Stream stream) override {
    const DeviceScope scope(s_.device.ordinal);
    DeviceBuffer<float> copy;
    if (is_host(attributes(k))) {
      copy = DeviceBuffer<float>(s_.problem.channels * s_.problem.filter_length);
      DANAUS_CUDA(cudaMemcpyAsync(copy.data(), k, copy.bytes(), cudaMemcpyHostToDevice, stream));
      k = copy.data();
    } else {
      check_memory("set_filter", "k", k);
    }
    const int parts = spectrum_parts(s_.size());
    SpectrumArguments a = make_spectrum_arguments(s_, k, spectrum_table_.data(), spectrum_.data(), parts);
    const void* kernel = s_.problem.dtype == Dtype::f16 ? reinterpret_cast<const void*>(&spectrum_kernel<Dtype::f16>)
                                                        : reinterpret_cast<const void*>(&spectrum_kernel<Dtype::bf16>);
    launch(kernel, s_.problem.channels * parts, spectrum::kThreads, spectrum::kPointBytes * s_.size() / parts, &a,
           stream, false);
    if (copy.data()) DANAUS_CUDA(cudaStreamSynchronize(stream));
    return std::nullopt;
  }

  std::optional<host::Counters> execute(const Rows& rows, Stream stream) const override {
    const DeviceScope scope(s_.device.ordinal);
    const Variant& v = *s_.choice.variant;
    const Transfer transfer = choose_transfer(s_, rows);
    const bool tensor = transfer == Transfer::tensor;
    const Spread over = spread(s_, transfer, tensor ? blocks_.tensor : blocks_.threads);
    FusedArguments a = make_arguments(s_, rows, spectrum_.data(), tables_.data(), over, make_map);
    launch(tensor ? v.cuda.tensor : v.cuda.threads, over.blocks, v.threads, v.shared_bytes, &a, stream,
           s_.device.sm >= 90);
    return std::nullopt;
  }

 private:
  static cudaPointerAttributes attributes(const void* data) {
    cudaPointerAttributes memory;
    DANAUS_CUDA(cudaPointerGetAttributes(&memory, data));
    return memory;
  }
  static bool is_host(const cudaPointerAttributes& memory) {
    return memory.type == cudaMemoryTypeUnregistered || memory.type == cudaMemoryTypeHost;
  }

  // Blocks of the kernel that the device runs at once. Lets it have its shared memory.
  std::int64_t concurrent_blocks(const void* kernel) const {
    const Variant& v = *s_.choice.variant;
    cudaFuncAttributes code;
    const cudaError_t error = cudaFuncGetAttributes(&code, kernel);
    if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction) {
      cudaGetLastError();
      fail("plan: this build has no code for ", s_.device.name, " (sm_", s_.device.sm,
           "); add it to DANAUS_CUDA_ARCHITECTURES");
    }
    DANAUS_CUDA(error);
    DANAUS_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, v.shared_bytes));
    int per_multiprocessor = 0;
    DANAUS_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, kernel, v.threads, v.shared_bytes));
    if (per_multiprocessor == 0) fail("plan: ", name(v), " does not fit on ", s_.device.name);
    return std::int64_t{per_multiprocessor} * s_.device.multiprocessors;
  }

  // `overlapping`: begins where the stream's previous kernel leaves room, and waits for it by itself.
  static void launch(const void* kernel, std::int64_t blocks, int threads, int shared_bytes, void* arguments,
                     Stream stream, bool overlapping) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = static_cast<unsigned>(blocks), config.blockDim = threads;
    config.dynamicSmemBytes = shared_bytes, config.stream = stream;
    config.attrs = &attribute, config.numAttrs = overlapping;
    void* list[] = {arguments};
    DANAUS_CUDA(cudaLaunchKernelExC(&config, kernel, list));
  }

  Setup s_;
  struct {
    std::int64_t tensor = 0, threads = 0;
  } blocks_;  // that run at once
  DeviceBuffer<u32> tables_, spectrum_table_, spectrum_;
};

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(Setup setup) { return std::make_unique<CudaBackend>(std::move(setup)); }

}  // namespace danaus
