#include "kernels/executor/product_rule.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/device/halves.hpp"
#include "reference/basics.hpp"

namespace danaus::host {

namespace {

using std::int16_t;
using std::int32_t;
using std::uint32_t;

constexpr int kTileHeight = 16, kTileWidth = 8, kMostProducts = 16;
constexpr int16_t kNoExponent = -10000, kSomeExponent = kNoExponent / 2;  // of zero; two of them fit 16 bits
constexpr uint32_t kFloatNan = 0x7fffffff, kHalfNan = 0x7fff;

struct Format {
  int fraction, least, bias;
};
constexpr Format kHalfFormat{10, -14, 15}, kBfloatFormat{7, -126, 127}, kTf32Format{23, -126, 127},
    kFloatFormat{23, -126, 127};

constexpr Format format_of(Factor factor) {
  return factor == Factor::f16 ? kHalfFormat : factor == Factor::bf16 ? kBfloatFormat : kTf32Format;
}

// The least exponent that terms of a sum are aligned by.
constexpr int least_exponent(const ProductRule& rule, bool f16_sums) {
  return (f16_sums ? kHalfFormat : kFloatFormat).least - rule.below_least;
}

// significand * 2^(exponent - point)
struct Term {
  std::int64_t significand;
  int exponent, point;
};

Term term_of(const Format& format, int bits, uint32_t word) {
  const uint32_t fraction = word & ((1u << format.fraction) - 1);
  const int field = int(word >> format.fraction & ((1u << (bits - 1 - format.fraction)) - 1));
  const std::int64_t significand = field > 0 ? (1u << format.fraction) | fraction : fraction;
  return {word >> (bits - 1) & 1 ? -significand : significand, std::max(field - format.bias, format.least),
          format.fraction};
}

uint32_t cut_operand(Factor factor, uint32_t word) { return factor == Factor::tf32 ? word & ~0x1fffu : word; }

float value_of(Factor factor, uint32_t word) {
  if (factor == Factor::f16) return decode<Dtype::f16>(std::uint16_t(word));
  return std::bit_cast<float>(factor == Factor::bf16 ? word << 16 : cut_operand(factor, word));
}

// Toward zero; from 2^128 on infinite.
uint32_t round_toward_zero(double exact) {
  if (std::abs(exact) >= 0x1p128) return std::signbit(exact) ? 0xff800000u : 0x7f800000u;
  float value = static_cast<float>(exact);
  if (std::abs(double{value}) > std::abs(exact)) value = std::nextafter(value, 0.f);
  return std::bit_cast<uint32_t>(value);
}

uint32_t half_result(double exact) {
  const uint32_t half = encode<Dtype::f16>(exact);
  return half == 0x8000 ? 0 : half;
}
uint32_t float_result(double exact) {
  const uint32_t word = round_toward_zero(exact);
  return word == 0x80000000u ? 0 : word;
}

// IEEE's sum where some of it is infinite or not a number.
uint32_t sum_of_special(Factor factor, bool f16_sums, std::span<const uint32_t> a, std::span<const uint32_t> b,
                        double sum) {
  for (std::size_t k = 0; k < a.size(); ++k) {
    const double product = double{value_of(factor, a[k])} * double{value_of(factor, b[k])};
    if (!std::isfinite(product)) sum += product;
  }
  if (std::isnan(sum)) return f16_sums ? kHalfNan : kFloatNan;
  return f16_sums ? (sum < 0 ? 0xfc00u : 0x7c00u) : (sum < 0 ? 0xff800000u : 0x7f800000u);
}

uint32_t multiply_group(const ProductRule& rule, Factor factor, bool f16_sums, std::span<const uint32_t> a,
                        std::span<const uint32_t> b, uint32_t sum) {
  const Format format = format_of(factor);
  const int bits = factor == Factor::tf32 ? 32 : 16;
  std::array<Term, 33> terms;
  int count = 0;
  const float before = f16_sums ? decode<Dtype::f16>(std::uint16_t(sum)) : std::bit_cast<float>(sum);
  bool finite = std::isfinite(before);
  for (std::size_t k = 0; k < a.size(); ++k) {
    finite &= std::isfinite(value_of(factor, a[k])) && std::isfinite(value_of(factor, b[k]));
    const Term x = term_of(format, bits, cut_operand(factor, a[k])),
               y = term_of(format, bits, cut_operand(factor, b[k]));
    terms[count++] = {x.significand * y.significand, x.exponent + y.exponent, x.point + y.point};
  }
  if (!finite) return sum_of_special(factor, f16_sums, a, b, std::isfinite(before) ? 0. : double{before});
  terms[count++] = f16_sums ? term_of(kHalfFormat, 16, sum) : term_of(kFloatFormat, 32, sum);
  int largest = least_exponent(rule, f16_sums);
  for (int i = 0; i < count; ++i)
    if (terms[i].significand != 0) largest = std::max(largest, terms[i].exponent);
  std::int64_t aligned = 0;
  for (int i = 0; i < count; ++i) {
    const Term& term = terms[i];
    if (term.significand == 0) continue;
    const int right = largest - term.exponent + term.point - rule.fraction_bits;
    const std::int64_t magnitude = std::abs(term.significand);
    const std::int64_t cut = right >= 63 ? 0 : right >= 0 ? magnitude >> right : magnitude << -right;
    aligned += term.significand < 0 ? -cut : cut;
  }
  const double exact = std::ldexp(double(aligned), largest - rule.fraction_bits);
  return f16_sums ? half_result(exact) : float_result(exact);
}

// The fast path works on the eight columns of a row at once.
using Shorts = int16_t __attribute__((vector_size(16)));
using Ints = int32_t __attribute__((vector_size(16)));
using Floats = float __attribute__((vector_size(16)));
template <class Vector, class T>
Vector load_vector(const T* from) {
  Vector vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}
template <class Vector, class T>
void store_vector(T* to, const Vector& vector) {
  std::memcpy(to, &vector, sizeof vector);
}

// 32-bit sums hold eight products of up to 27 bits and the accumulator; scales of fp32 hold these exponents, and what
// of a product fp32 cannot hold is then cut off.
constexpr int kMostFastBits = 25, kFastStep = 8, kFastLeast = -80, kFastLargest = 100;

// Values, and exponents with kNoExponent for zero. Whether all are finite.
template <Factor factor>
bool unpack(const uint32_t* words, int count, float* values, int16_t* exponents) {
  constexpr Format format = format_of(factor);
  constexpr uint32_t kMagnitude = factor == Factor::tf32 ? 0x7fffe000u : 0x7fffu;
  constexpr uint32_t kInfinite = uint32_t(2 * format.bias + 1) << format.fraction;
  uint32_t largest = 0;
  for (int i = 0; i < count; ++i) {
    const uint32_t magnitude = words[i] & kMagnitude;
    const auto field = int32_t(magnitude >> format.fraction);
    largest |= magnitude >= kInfinite;
    exponents[i] = int16_t(magnitude == 0 ? kNoExponent : (field > 0 ? field : 1) - format.bias);
    if constexpr (factor == Factor::f16)
      values[i] = std::bit_cast<float>(magnitude << 13 | (words[i] & 0x8000u) << 16) * 0x1p112f;
    else
      values[i] = std::bit_cast<float>(factor == Factor::bf16 ? words[i] << 16 : cut_operand(factor, words[i]));
  }
  return largest == 0;
}

template <bool f16_sums>
bool unpack_sums(const uint32_t* words, float* values, int16_t* exponents) {
  if constexpr (f16_sums) return unpack<Factor::f16>(words, kTileWidth, values, exponents);
  uint32_t special = 0;
  for (int j = 0; j < kTileWidth; ++j) {
    const uint32_t magnitude = words[j] & 0x7fffffffu;
    const auto field = int32_t(magnitude >> 23);
    values[j] = std::bit_cast<float>(words[j]);
    exponents[j] = int16_t(magnitude == 0 ? kNoExponent : (field > 0 ? field : 1) - 127);
    special |= magnitude >= 0x7f800000u;
  }
  return special == 0;
}

}  // namespace

uint32_t multiply_add(const ProductRule& rule, Factor factor, bool f16_sums, std::span<const uint32_t> a,
                      std::span<const uint32_t> b, uint32_t sum) {
  if (rule.group < 1 || rule.group > 32 || rule.fraction_bits < 1 || rule.fraction_bits > 30)
    fail("product rule: groups of ", rule.group, " with ", rule.fraction_bits,
         " bits, must be 1 to 32 with 1 to 30 bits");
  if (a.size() != b.size()) fail("product rule: ", a.size(), " factors by ", b.size(), ", must be as many");
  for (std::size_t first = 0; first < a.size(); first += std::size_t(rule.group)) {
    const std::size_t count = std::min(std::size_t(rule.group), a.size() - first);
    sum = multiply_group(rule, factor, f16_sums, a.subspan(first, count), b.subspan(first, count), sum);
  }
  return sum;
}

namespace {

template <Factor factor, bool f16_sums>
void multiply_tile(const ProductRule& rule, int depth, const uint32_t* a, const uint32_t* b, uint32_t* sums) {
  alignas(16) float x[kTileHeight * kMostProducts], y[kMostProducts * kTileWidth];
  alignas(16) int16_t x_exponents[kTileHeight * kMostProducts], y_exponents[kMostProducts * kTileWidth];
  const bool finite = int(unpack<factor>(a, kTileHeight * depth, x, x_exponents)) &
                      int(unpack<factor>(b, depth * kTileWidth, y, y_exponents));
  const bool fast = finite && rule.fraction_bits <= kMostFastBits && rule.group % kFastStep == 0;
  const auto least = static_cast<int16_t>(f16_sums ? least_exponent(rule, true) : kFastLeast);
  for (int row = 0; row < kTileHeight; ++row)
    for (int first = 0; first < depth; first += rule.group) {
      const int last = std::min(first + rule.group, depth);
      uint32_t* of_row = sums + kTileWidth * row;
      alignas(16) float before[kTileWidth], scales[kTileWidth];
      alignas(16) int16_t exponents[kTileWidth];
      const bool sums_finite = unpack_sums<f16_sums>(of_row, before, exponents);
      auto largest = load_vector<Shorts>(exponents);
      for (int k = first; k < last; ++k) {
        const Shorts of_product = load_vector<Shorts>(y_exponents + kTileWidth * k) + x_exponents[depth * row + k];
        largest = largest > of_product ? largest : of_product;
      }
      // Where all terms are zero any exponent will do.
      const auto outside = std::bit_cast<std::array<std::int64_t, 2>>(
          (largest > kFastLargest) | (!f16_sums & (largest < kFastLeast) & (largest > kSomeExponent)));
      if (!fast || !sums_finite || (outside[0] | outside[1]) != 0) {
        for (int j = 0; j < kTileWidth; ++j) {
          std::array<uint32_t, kMostProducts> column;
          for (int k = first; k < last; ++k) column[k] = b[kTileWidth * k + j];
          const auto count = std::size_t(last - first);
          of_row[j] = multiply_group(rule, factor, f16_sums, {a + depth * row + first, count}, {&column[first], count},
                                     of_row[j]);
        }
        continue;
      }
      store_vector(exponents, largest > least ? largest : Shorts{} + least);
      for (int j = 0; j < kTileWidth; ++j)
        scales[j] = std::bit_cast<float>((127 + rule.fraction_bits - exponents[j]) << 23);
      alignas(16) int32_t parts[2][kTileWidth] = {};
      for (int j = 0; j < kTileWidth; j += 4) {
        const auto scale = load_vector<Floats>(scales + j);
        store_vector(parts[0] + j, __builtin_convertvector(load_vector<Floats>(before + j) * scale, Ints));
        for (int k = first; k < last; k += kFastStep) {
          int32_t* part = parts[(k - first) / kFastStep % 2] + j;
          auto sum = load_vector<Ints>(part);
          for (int i = k; i < k + kFastStep; ++i)
            sum +=
                __builtin_convertvector(x[depth * row + i] * load_vector<Floats>(y + kTileWidth * i + j) * scale, Ints);
          store_vector(part, sum);
        }
      }
      for (int j = 0; j < kTileWidth; ++j) {
        const double unit = std::bit_cast<double>(std::uint64_t(1023 + exponents[j] - rule.fraction_bits) << 52);
        const double exact = (double(parts[0][j]) + double(parts[1][j])) * unit;
        if constexpr (f16_sums)
          of_row[j] = half_result(exact);
        else  // no result is subnormal or too large here
          of_row[j] = std::bit_cast<uint32_t>(
              static_cast<float>(std::bit_cast<double>(std::bit_cast<std::uint64_t>(exact) & ~0x1fffffffull)));
      }
    }
}

}  // namespace

void multiply_tile(const ProductRule& rule, Factor factor, bool f16_sums, int depth, const uint32_t* a,
                   const uint32_t* b, uint32_t* sums) {
  if (factor == Factor::tf32) return multiply_tile<Factor::tf32, false>(rule, depth, a, b, sums);
  if (factor == Factor::bf16) return multiply_tile<Factor::bf16, false>(rule, depth, a, b, sums);
  if (f16_sums) return multiply_tile<Factor::f16, true>(rule, depth, a, b, sums);
  multiply_tile<Factor::f16, false>(rule, depth, a, b, sums);
}

}  // namespace danaus::host
