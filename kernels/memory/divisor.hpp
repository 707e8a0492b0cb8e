// A number that kernels divide by, known when they are launched: the product of two numbers in place of a division,
// which takes a warp some forty instructions, one after the other.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/memory/division.hpp"

namespace danaus {

// n / d = n m / 2^(31 + l), m = ceil(2^(31 + l) / d), for l = ceil(log2 d) and any n from 0 to 2^31 - 1: m d exceeds
// 2^(31 + l) by less than d <= 2^l, so that n m / 2^(31 + l) exceeds n / d by less than 1 / d (Granlund, Montgomery
// 1994).
class Divisor {
 public:
  constexpr Divisor(int value = 1)
      : value_(value),
        shift_(std::bit_width(static_cast<std::uint32_t>(value - 1))),
        multiplier_(static_cast<std::uint32_t>(((std::uint64_t{1} << (31 + shift_)) + value - 1) / value)) {}
  DANAUS_HOST_AND_DEVICE constexpr operator int() const { return value_; }

  friend DANAUS_HOST_AND_DEVICE constexpr int operator/(int n, const Divisor& d) {
    const std::uint64_t product = std::uint64_t{2 * static_cast<std::uint32_t>(n)} * d.multiplier_;
    return static_cast<int>(static_cast<std::uint32_t>(product >> 32) >> d.shift_);
  }
  friend DANAUS_HOST_AND_DEVICE constexpr int operator%(int n, const Divisor& d) { return n - n / d * d.value_; }

 private:
  int value_, shift_;
  std::uint32_t multiplier_;
};

}  // namespace danaus
