// How tensor cores multiply and sum: each architecture's rule as data, and products by a rule, exact in every bit.
//
// An instruction sums a group of products and the accumulator at once:
//   exponent      of a product the sum of its factors' exponents, not normalised; a subnormal has its type's least
//                 exponent; a zero has none
//   alignment     every term is cut off toward zero at `fraction_bits` bits below the largest exponent
//   small terms   terms whose exponents are all smaller than E are aligned to E, which is `below_least` below the
//                 least normal exponent of the sum's type
//   sum           exact
//   result        rounded toward zero to fp32 (from 2^128 on it is infinite), or to nearest even to fp16; zero is +0
//   not finite    as IEEE 754 sums them; every NaN is the canonical one, all of whose bits but the sign are set
// An instruction with more products takes its groups one after another.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace danaus::host {

struct ProductRule {
  int group;
  int fraction_bits;
  int below_least = 7;
  bool operator==(const ProductRule&) const = default;
};

struct ArchitectureRule {
  int sm;  // compute capability, times ten, from which on it holds
  ProductRule halves, tf32;
  bool measured;  // by this project
  std::string_view source;
};

inline constexpr ArchitectureRule kAmpereRule = {
    80, {8, 24}, {4, 24}, false, "published: github.com/microsoft/MMA-Sim"};
inline constexpr ArchitectureRule kHopperRule = {90, {16, 25}, {16, 25}, true, "2.2 billion outputs of an H200"};
inline constexpr std::array kProductRules = {kAmpereRule, kHopperRule};

// The one that the executor follows: sm_90's.
inline constexpr const ArchitectureRule& kExecutedRule = kHopperRule;

enum class Factor { f16, bf16, tf32 };

// One output of an instruction, by any rule. `a` and `b` hold the bits of a factor in each word (TF32: its lowest 13
// bits are not read), `sum` and the result those of fp32, or of fp16 where `f16_sums` says so. Throws
// std::invalid_argument for a rule that no exact sum of 64 bits holds: group 1 to 32, fraction_bits 1 to 30.
std::uint32_t multiply_add(const ProductRule& rule, Factor factor, bool f16_sums, std::span<const std::uint32_t> a,
                           std::span<const std::uint32_t> b, std::uint32_t sum);

// Sixteen rows and eight columns at once: a is [16, depth], b [depth, 8], sums [16, 8] as bits, read and written.
// `depth`: 8 or 16.
void multiply_tile(const ProductRule& rule, Factor factor, bool f16_sums, int depth, const std::uint32_t* a,
                   const std::uint32_t* b, std::uint32_t* sums);

}  // namespace danaus::host
