// f16 and bf16 as bits, by Eigen's types: round to nearest even, subnormals kept, overflow to infinity.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/basics.hpp"

namespace danaus::host {

template <Dtype T>
float decode(std::uint16_t bits) {
  static_assert(T == Dtype::f16 || T == Dtype::bf16);
  if constexpr (T == Dtype::f16) {
    // Without branches, so that loops become vectors: a product makes subnormals normal, and 2^16 stands for infinity.
    const std::uint32_t magnitude = (bits & 0x7fffu) << 13, special = magnitude >= 0x0f800000u ? 0x7f800000u : 0;
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | special | (bits & 0x8000u) << 16);
  }
  return static_cast<float>(Eigen::numext::bit_cast<Eigen::bfloat16>(bits));
}

// Through float: a double result that is no float has been rounded once more, which matters only within 2^-29 of a tie.
template <Dtype T>
std::uint16_t encode(double value) {
  static_assert(T == Dtype::f16 || T == Dtype::bf16);
  if constexpr (T == Dtype::f16) return Eigen::numext::bit_cast<std::uint16_t>(Eigen::half(static_cast<float>(value)));
  return Eigen::numext::bit_cast<std::uint16_t>(Eigen::bfloat16(static_cast<float>(value)));
}

// Whole arrays, of a type known at run time.
inline std::vector<std::uint16_t> encode(Dtype dtype, std::span<const double> values) {
  std::vector<std::uint16_t> bits(values.size());
  std::transform(values.begin(), values.end(), bits.begin(),
                 dtype == Dtype::f16 ? encode<Dtype::f16> : encode<Dtype::bf16>);
  return bits;
}
// Of f16, bf16 or f32.
inline std::vector<std::byte> encode_bytes(Dtype dtype, std::span<const double> values) {
  std::vector<std::byte> bytes;
  const auto append = [&](const auto& encoded) {
    const auto view = std::as_bytes(std::span(encoded));
    bytes.assign(view.begin(), view.end());
  };
  if (dtype == Dtype::f32)
    append(std::vector<float>(values.begin(), values.end()));
  else
    append(encode(dtype, values));
  return bytes;
}
inline std::vector<double> decode(Dtype dtype, std::span<const std::uint16_t> bits) {
  std::vector<double> values(bits.size());
  std::transform(bits.begin(), bits.end(), values.begin(),
                 dtype == Dtype::f16 ? decode<Dtype::f16> : decode<Dtype::bf16>);
  return values;
}

}  // namespace danaus::host
