// Host memory that begins where memory of a GPU would, so that warps touch the sectors there that they touch on one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

namespace danaus::host {

template <class T>
class AlignedArray {
 public:
  explicit AlignedArray(std::int64_t size) : size_(size), values_(new (kAlignment) T[size]()) {}  // zeros
  explicit AlignedArray(std::span<const T> values) : AlignedArray(std::ssize(values)) {
    std::copy(values.begin(), values.end(), data());
  }
  T* data() const { return values_.get(); }
  std::int64_t size() const { return size_; }
  std::size_t bytes() const { return sizeof(T) * static_cast<std::size_t>(size_); }
  std::span<T> all() const { return {data(), static_cast<std::size_t>(size_)}; }

 private:
  static constexpr std::align_val_t kAlignment{256};  // of cudaMalloc
  struct Free {
    void operator()(T* values) const { ::operator delete[](values, kAlignment); }
  };
  std::int64_t size_;
  std::unique_ptr<T[], Free> values_;
};

}  // namespace danaus::host
