// What a TensorMap of the executor says.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "kernels/device/tensor_map.hpp"

namespace danaus::host {

struct TensorView {
  static constexpr int kRank = 5;
  void* base = nullptr;
  std::array<std::uint64_t, kRank> extent{1, 1, 1, 1, 1};        // elements
  std::array<std::uint64_t, kRank> stride_bytes{2, 0, 0, 0, 0};  // the first is the size of an element
  std::array<std::uint32_t, kRank> box{1, 1, 1, 1, 1};           // elements
};

inline TensorMap make_tensor_map(const TensorView& view) {
  static_assert(sizeof view <= sizeof(TensorMap));
  TensorMap map{};
  std::memcpy(map.opaque, &view, sizeof view);
  return map;
}

inline TensorView view_of(const TensorMap& map) {
  TensorView view;
  std::memcpy(&view, map.opaque, sizeof view);
  return view;
}

}  // namespace danaus::host
