#include <algorithm>
#include <utility>

#include "experiments/arithmetic/instructions.hpp"
#include "experiments/arithmetic/order.hpp"
#include "kernels/cuda/runtime.hpp"

namespace danaus {
namespace {

template <auto instruction>
__global__ void __launch_bounds__(arithmetic::kThreads) kernel(arithmetic::Operands operands) {
  arithmetic::run<instruction>(operands);
}

template <auto instruction>
struct Launcher {
  static void function(const arithmetic::Operands& operands, int blocks) {
    kernel<instruction><<<blocks, arithmetic::kThreads, arithmetic::kSharedBytes>>>(operands);
  }
};
using LaunchInstruction = void (*)(const arithmetic::Operands&, int);

}  // namespace

std::vector<std::uint32_t> run_on_gpu(std::size_t number, const OperandWords& operands, const Device& device) {
  const DeviceScope scope(device.ordinal);
  const auto a = uploaded(operands.a), b = uploaded(operands.b), c = uploaded(operands.c);
  std::vector<std::uint32_t> out(static_cast<std::size_t>(operands.items) * instructions()[number].outputs());
  const DeviceBuffer<std::uint32_t> to(static_cast<std::int64_t>(out.size()));
  constexpr int kBlocksOfSm = 4;
  arithmetic::kFunctions<Launcher, LaunchInstruction>.of[number](
      {a.data(), b.data(), c.data(), to.data(), operands.items}, kBlocksOfSm * device.multiprocessors);
  DANAUS_CUDA(cudaGetLastError());
  DANAUS_CUDA(cudaMemcpy(out.data(), to.data(), 4 * out.size(), cudaMemcpyDeviceToHost));
  return out;
}

}  // namespace danaus
