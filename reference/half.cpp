#include "reference/half.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

namespace danaus {
namespace {

// fp32 with the rounding that leaves the next, narrower rounding free to be right: inexact values go to the neighbour
// whose last bit is 1, so no tie is made that was none ("round to odd", Boldo and Melquiond 2008).
float round_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (nearest == value || std::isnan(value) || (bits & 1)) return nearest;
  return std::bit_cast<float>(std::abs(value) > std::abs(nearest) ? bits + 1 : bits - 1);
}

}  // namespace

float round_to(Dtype dtype, float value) {
  switch (dtype) {
    case Dtype::f16: return static_cast<float>(Eigen::half(value));
    case Dtype::bf16: return static_cast<float>(Eigen::bfloat16(value));
    case Dtype::f32:
    case Dtype::f64: return value;
  }
  fail("round_to: dtype ", int(dtype), " is none of f16, bf16, f32, f64");
}

double round_to(Dtype dtype, double value) {
  if (dtype == Dtype::f64) return value;
  if (dtype == Dtype::f32) return static_cast<float>(value);
  return round_to(dtype, round_to_odd(value));
}

double half_ulp(Dtype dtype, double value) {
  const auto [digits, least] = dtype == Dtype::f16    ? std::pair(11, -24)
                               : dtype == Dtype::bf16 ? std::pair(8, -133)
                               : dtype == Dtype::f32  ? std::pair(24, -149)
                                                      : std::pair(53, -1074);
  if (!std::isfinite(value)) fail("half_ulp: ", value, ", must be finite");
  return std::ldexp(0.5, value == 0 ? least : std::max(std::ilogb(value) + 1 - digits, least));
}

}  // namespace danaus
