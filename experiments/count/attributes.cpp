#include <map>
#include <string>

#include "experiments/count/compiled.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/runtime.hpp"
#include "kernels/plan/long.hpp"
#include "kernels/plan/registry.hpp"

namespace danaus {
namespace {

std::map<KernelId, std::string> names_of_variants() {
  std::map<KernelId, std::string> names;
  const auto add = [&](const auto& list) {
    for (const auto& v : list) names[{v->family, v->line, v->instance}] = v->name;
  };
  add(variants()), add(sparse_variants()), add(long_variants());
  return names;
}

// Empty where this build has no code of the kernel for the device.
Json paths_of(const KernelId& id) {
  Json paths = Json::object();
  for (std::size_t i = 0; i < kPaths; ++i) {
    const void* kernel = cuda_kernels(id).list[i];
    if (!kernel) continue;
    cudaFuncAttributes code;
    const cudaError_t error = cudaFuncGetAttributes(&code, kernel);
    if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction) {
      cudaGetLastError();
      continue;
    }
    DANAUS_CUDA(error);
    paths[kPathWords[i]] = {{"registers", code.numRegs}, {"local_bytes", code.localSizeBytes}};
  }
  return paths;
}

}  // namespace

std::vector<Json> report_of_compiler(const Device& device) {
  const DeviceScope scope(device.ordinal);
  const std::map<KernelId, std::string> names = names_of_variants();
  std::vector<Json> rows;
  for (const KernelId& id : host_kernels()) {
    const Json paths = paths_of(id);
    if (paths.empty()) continue;
    if (rows.empty() || rows.back().at("family") != id.family)
      rows.push_back({{"family", id.family},
                      {"device", device_block(device)},
                      {"code", code_of_kernel(id.family)},
                      {"compiler", compiler_in_words()},
                      {"kernels", Json::array()}});
    Json kernel = {{"line", id.line}, {"instance", id.instance}};
    if (const auto name = names.find(id); name != names.end()) kernel["name"] = name->second;
    kernel["paths"] = paths;
    rows.back().at("kernels").push_back(kernel);
  }
  return rows;
}

}  // namespace danaus
