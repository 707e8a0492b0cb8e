// What every folder shares: messages, errors, and the types of numbers in memory.
//
// No CUDA, no FFT and no linear algebra is included here.
#pragma once

#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace danaus {

// Its parts, one after the other, as a stream prints them.
template <class... Part>
std::string text(const Part&... part) {
  std::ostringstream out;
  (out << ... << part);
  return out.str();
}

// As tokens write factors: 8x8x16.
std::string join(const std::vector<int>& list, std::string_view between = "x");

// Throws std::invalid_argument. A message names the operation, the value and the rule:
//   fail("convolve: L=", length, ", must be at least 1");
template <class... Part>
[[noreturn]] void fail(const Part&... part) {
  throw std::invalid_argument(text(part...));
}

// Type of samples in memory.
enum class Dtype { f16, bf16, f32, f64 };

std::string_view name(Dtype dtype);
std::int64_t bytes(Dtype dtype);
double unit_roundoff(Dtype dtype);  // half the distance from 1 to the next larger number: 2^-11, 2^-8, 2^-24, 2^-53

}  // namespace danaus
