#include "model/factorization.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "reference/convolution/convolution.hpp"

namespace danaus {
namespace {

constexpr int kHighestFusedOrder = 3;  // one kernel does up to three steps without leaving the SM
constexpr int kHighestOrder = 5;

std::vector<int> balanced_exponents(int exponent, int order) {
  std::vector<int> exponents(order, exponent / order);
  for (int i = 0; i < exponent % order; ++i) ++exponents[i];
  return exponents;
}

int log2_of_points_in_sram(const HardwareProfile& profile) {
  const auto capacity =
      static_cast<std::uint64_t>(profile.shared_memory_per_block.value * 1024) / half_complex_bytes(1);
  return std::bit_width(capacity) - 1;
}

std::vector<int> choose_exponents(int exponent, int order, int exponent_in_sram) {
  std::vector<int> exponents = balanced_exponents(exponent, order);
  if (order <= kHighestFusedOrder || exponent <= exponent_in_sram) return exponents;
  int outermost = exponents[0];
  if (order == kHighestFusedOrder + 1 && exponent_in_sram >= kHighestFusedOrder)
    outermost = std::max(outermost, exponent - exponent_in_sram);
  exponents = choose_exponents(exponent - outermost, order - 1, exponent_in_sram);
  exponents.insert(exponents.begin(), outermost);
  return exponents;
}

}  // namespace

std::string_view name(Memory memory) { return memory == Memory::sram ? "sram" : "hbm"; }

std::int64_t half_complex_bytes(std::int64_t points) { return 2 * 2 * points; }

bool fits_in_sram(std::int64_t points, const HardwareProfile& profile) {
  return static_cast<double>(half_complex_bytes(points)) <= profile.shared_memory_per_block.value * 1024;
}

std::vector<int> choose_factors(std::int64_t points, int order, const HardwareProfile& profile) {
  if (order < 1 || order > kHighestOrder) fail("choose factors: order ", order, ", must be from 1 to ", kHighestOrder);
  if (points < 1 || !std::has_single_bit(static_cast<std::uint64_t>(points)))
    fail("choose factors: N=", points, ", must be a power of two");
  const int exponent = std::countr_zero(static_cast<std::uint64_t>(points));
  if (exponent < order) fail("choose factors: N=", points, ", order ", order, " needs at least ", 1 << order);
  const std::vector<int> exponents = choose_exponents(exponent, order, log2_of_points_in_sram(profile));
  if (exponents[0] >= std::numeric_limits<int>::digits)
    fail("choose factors: N=", points, ", order ", order, " needs a factor of 2^", exponents[0],
         ", must be below 2^31");
  std::vector<int> factors;
  for (int e : exponents) factors.push_back(1 << e);
  return factors;
}

std::vector<Place> places(const std::vector<int>& factors, const HardwareProfile& profile) {
  std::vector<Place> result;
  auto points = std::accumulate(factors.begin(), factors.end(), std::int64_t{1}, std::multiplies<>{});
  for (std::size_t step = 0; step < factors.size(); ++step) {
    const std::size_t order = factors.size() - step;
    const bool fits = fits_in_sram(points, profile);
    if (fits || order <= kHighestFusedOrder) {
      result.resize(factors.size(), {fits ? Memory::sram : Memory::hbm, points});
      break;
    }
    result.push_back({Memory::hbm, points});
    points /= factors[step];
  }
  return result;
}

}  // namespace danaus
