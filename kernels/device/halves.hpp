// f16 and bf16 as bits: round to nearest even, subnormals kept, overflow to infinity.
#pragma once

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
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

// To nearest even in one rounding; every NaN becomes the canonical one of a GPU.
template <Dtype T>
std::uint16_t encode(double value) {
  static_assert(T == Dtype::f16 || T == Dtype::bf16);
  constexpr int kFraction = T == Dtype::f16 ? 10 : 7, kLeast = T == Dtype::f16 ? -14 : -126;
  constexpr std::uint64_t kInfinite = T == Dtype::f16 ? 0x7c00 : 0x7f80;
  constexpr int kCut = 52 - kFraction;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = std::uint16_t(bits >> 48 & 0x8000u);
  const std::uint64_t magnitude = bits & ~(std::uint64_t{1} << 63);
  if (magnitude < std::uint64_t(1023 + kLeast) << 52) {
    // The sum's last bit is the least subnormal.
    constexpr double kShift = std::bit_cast<double>(std::uint64_t(1023 + 52 + kLeast - kFraction) << 52);
    const double shifted = std::bit_cast<double>(magnitude) + kShift;
    return std::uint16_t(sign | (std::bit_cast<std::uint64_t>(shifted) & 0xffffu));
  }
  if (magnitude > std::uint64_t{0x7ff} << 52) return 0x7fff;
  const std::uint64_t half = (std::uint64_t{1} << (kCut - 1)) - 1 + (magnitude >> kCut & 1);
  const std::uint64_t rounded = ((magnitude + half) >> kCut) - (std::uint64_t(1023 + kLeast - 1) << kFraction);
  return std::uint16_t(sign | std::min(rounded, kInfinite));
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
