#include "experiments/methods/baselines/cublas.hpp"

#include <dlfcn.h>
#include <library_types.h>

#include "experiments/timing/device_memory.hpp"

namespace danaus {
namespace {

// Of cublas_api.h, which a build need not have.
constexpr int kTranspose = 1, kNone = 0, kCompute32F = 68, kCompute32FFastTf32 = 77, kDefaultAlgorithm = -1;
constexpr std::int64_t kWorkspaceBytes = 32 << 20;  // what cuBLAS itself takes on an H100

std::shared_ptr<void> find_library() {
  for (const char* name : {"libcublas.so.13", "libcublas.so.12"})
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return {library, [](void* found) { dlclose(found); }};
  fail("bench: there is no cuBLAS (libcublas.so.13 or .12) among the libraries of this machine");
}

}  // namespace

template <class... Argument>
void Cublas::call(const char* function, Argument... arguments) const {
  const auto found = reinterpret_cast<int (*)(Argument...)>(dlsym(library_.get(), function));
  if (!found) fail("bench: the cuBLAS of this machine has no ", function);
  if (const int status = found(arguments...)) throw CudaError(text(function, ": cuBLAS error ", status));
}

Cublas::Cublas() : library_(find_library()), workspace_(room_for<std::byte>(kWorkspaceBytes, "cuBLAS's workspace")) {
  call("cublasCreate_v2", &handle_);
}

Cublas::~Cublas() {
  if (handle_) call("cublasDestroy_v2", handle_);
}

// As cuBLAS sees it, by columns: a matrix is the transpose of what it is by rows.
void Cublas::multiply(const Product& p, bool tf32, cudaStream_t stream) const {
  call("cublasSetStream_v2", handle_, stream);
  // With memory of its own nothing is allocated while the stream is captured.
  call("cublasSetWorkspace_v2", handle_, static_cast<void*>(workspace_.data()), workspace_.bytes());
  const float2 one = {1, 0}, zero = {0, 0};
  struct Operand {
    const float2* data;
    int columns;
    long long step;
  };
  const long long m = p.m, n = p.n, k = p.k;
  const Operand a = {p.a, p.rows_first ? p.k : p.m, m * k}, b = {p.b, p.n, p.b_step};
  const auto &left = p.rows_first ? b : a, &right = p.rows_first ? a : b;
  const int lines = p.rows_first ? p.n : p.m, columns = p.rows_first ? p.m : p.n;
  call("cublasGemmStridedBatchedEx", handle_, kNone, p.rows_first ? kNone : kTranspose, lines, columns, p.k,
       static_cast<const void*>(&one), static_cast<const void*>(left.data), CUDA_C_32F, left.columns, left.step,
       static_cast<const void*>(right.data), CUDA_C_32F, right.columns, right.step, static_cast<const void*>(&zero),
       static_cast<void*>(p.c), CUDA_C_32F, lines, m * n, static_cast<int>(p.count),
       tf32 ? kCompute32FFastTf32 : kCompute32F, kDefaultAlgorithm);
}

}  // namespace danaus
