// Tensor maps that were made before: a map says nothing but a shape and an address, whatever memory is there by now.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/device/tensor_map.hpp"
#include "kernels/families/variant.hpp"

namespace danaus {

// Of one thread. The arrays of a loop's calls have the same few addresses again and again.
class MapCache {
 public:
  static constexpr std::size_t kPlaces = 32;

  // What make(shape, data) returns or once returned. `data` is not null.
  template <class Make>
  const TensorMap& get(const TensorShape& shape, const void* data, Make make) {
    Entry& entry = entries_[place_of(shape, data)];
    if (entry.data != data || entry.shape != shape) {
      entry.data = nullptr;  // make() may throw
      entry.map = make(shape, data);
      entry.shape = shape, entry.data = data;
    }
    return entry.map;
  }

 private:
  struct Entry {
    const void* data = nullptr;
    TensorShape shape;
    TensorMap map;
  };
  static std::size_t place_of(const TensorShape& shape, const void* data) {
    const std::uint64_t both = reinterpret_cast<std::uintptr_t>(data) + 7 * shape.extent[0];
    return both * 0x9e3779b97f4a7c15 >> 32 & (kPlaces - 1);
  }

  std::array<Entry, kPlaces> entries_{};
};

}  // namespace danaus
