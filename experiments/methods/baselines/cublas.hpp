// cuBLAS, looked for when it is first needed: a program that was linked without it starts everywhere.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/cuda/runtime.hpp"

namespace danaus {

class Cublas {
 public:
  // Throws std::invalid_argument where there is no library.
  Cublas();
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  // For each of `count` matrices c = a^T b of complex fp32 numbers, a [k, m], b [k, n], as c^T [n, m], or with
  // `rows_first` c = a b, a [m, k], c [m, n]; all row-major and one behind the other, b the same for all where b_step
  // is 0.
  struct Product {
    int m, n, k;
    const float2 *a, *b;
    float2* c;
    std::int64_t count, b_step;
    bool rows_first;
  };
  void multiply(const Product& product, bool tf32, cudaStream_t stream) const;

 private:
  template <class... Argument>
  void call(const char* function, Argument... arguments) const;

  std::shared_ptr<void> library_;
  void* handle_ = nullptr;
  DeviceBuffer<std::byte> workspace_;
};

}  // namespace danaus
