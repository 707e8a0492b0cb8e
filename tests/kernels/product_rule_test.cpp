// Products of tensor cores, bit for bit.
#include "kernels/executor/product_rule.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "kernels/device/halves.hpp"
#include "kernels/device/operations.hpp"
#include "reference/half.hpp"
#include "tests/kernels/executor_support.hpp"

namespace danaus {
namespace {

using host::Factor;
using host::ProductRule;

constexpr ProductRule kHopper = host::kHopperRule.halves, kAmpere = host::kAmpereRule.halves;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

u32 bits_of(Factor factor, double value) {
  if (factor == Factor::f16) return host::encode<Dtype::f16>(value);
  if (factor == Factor::bf16) return host::encode<Dtype::bf16>(value);
  return std::bit_cast<u32>(static_cast<float>(value));
}
double value_of(Factor factor, u32 bits) {
  if (factor == Factor::f16) return host::decode<Dtype::f16>(std::uint16_t(bits));
  return std::bit_cast<float>(factor == Factor::bf16 ? bits << 16 : bits & ~0x1fffu);
}

struct Product {
  double a, b;
};

// The sum of a few products, the others being zero.
float sum_of(Factor factor, double c, const std::vector<Product>& products, const ProductRule& rule = kHopper) {
  std::vector<u32> a(16), b(16);
  for (std::size_t k = 0; k < products.size(); ++k)
    a[k] = bits_of(factor, products[k].a), b[k] = bits_of(factor, products[k].b);
  return std::bit_cast<float>(host::multiply_add(rule, factor, false, a, b, std::bit_cast<u32>(static_cast<float>(c))));
}
double half_sum_of(double c, const std::vector<Product>& products) {
  std::vector<u32> a(16), b(16);
  for (std::size_t k = 0; k < products.size(); ++k)
    a[k] = bits_of(Factor::f16, products[k].a), b[k] = bits_of(Factor::f16, products[k].b);
  return host::decode<Dtype::f16>(
      std::uint16_t(host::multiply_add(kHopper, Factor::f16, true, a, b, host::encode<Dtype::f16>(c))));
}

TEST(ProductRule, TermsAreCutAt25BitsBelowTheLargestExponent) {
  EXPECT_EQ(sum_of(Factor::f16, -1, {{1, 1}, {0x1p-13, 0x1p-12}}), 0x1p-25f);
  EXPECT_EQ(sum_of(Factor::f16, -1, {{1, 1}, {0x1p-13, 0x1p-13}}), 0);
  EXPECT_EQ(sum_of(Factor::f16, -1, {{1, 1}, {1.5, 0x1p-13 * 0x1p-11}, {-0x1p-13, 0x1p-12}}), 0x1p-24f)
      << "each term is cut toward zero before the sum";
  EXPECT_EQ(sum_of(Factor::f16, -1, {{1.5, 1.5}, {-1.25, 1}, {0x1p-12, 0x1p-13}}), 0x1p-25f)
      << "2.25 has the exponent 0 of its factors";
  EXPECT_EQ(sum_of(Factor::bf16, 0x1p20, {{-0x1p10, 0x1p10}, {0x1p-3, 0x1p-3}}), 0) << "cancelled, and cut before";
}

TEST(ProductRule, SubnormalFactorsHaveTheLeastExponent) {
  // 2^-24 has exponent -14: the product's is -4, and of the other one 25 bits below it are left.
  EXPECT_EQ(sum_of(Factor::f16, 0, {{0x1p-24, 0x1p10}, {0x1p-15, 0x1p-14}}), 0x1p-14f + 0x1p-29f);
  EXPECT_EQ(sum_of(Factor::f16, 0, {{0x1p-24, 0x1p10}, {0x1p-15, 0x1p-15}}), 0x1p-14f);
  EXPECT_EQ(sum_of(Factor::f16, 0, {{0x1p-14, 1}, {0x1p-15, 0x1p-15}}), 0x1p-14f + 0x1p-30f);
}

TEST(ProductRule, AlignsSmallTermsAsIfOneHadAnExponentOfMinus133) {
  EXPECT_EQ(sum_of(Factor::bf16, 0, {{0x1p-75, 0x1p-74}, {-0x1p-79, 0x1p-79}}), 0) << "2^-149 less 2^-158";
  EXPECT_EQ(sum_of(Factor::bf16, 0, {{0x1p-75, 0x1p-74}, {-0x1.fp-80, 0x1p-79}}), 0x1p-149f) << "less what is cut off";
  EXPECT_EQ(sum_of(Factor::bf16, 0x1p-149, {{-0x1.fp-80, 0x1p-79}}), 0x1p-149f) << "of the accumulator likewise";
}

// 3.4999996 times the least half, by an H200: from an exponent of -21 on, 25 bits leave a tie, which goes to 4 times.
TEST(ProductRule, AlignsSmallTermsOfHalvesAsIfOneHadAnExponentOfMinus21) {
  const std::vector<u32> a = {0x8d82, 0x8e8a, 0xd66, 0x8bb8, 0x82d9, 0x7a6, 0x739, 0x88f8,
                              0x8214, 0xcc4,  0x135, 0x8544, 0x8d1,  0x6ae, 0x8e6, 0xe68};
  const std::vector<u32> b = {0x8dbd, 0xe3c, 0x8520, 0x94a, 0x869f, 0x162, 0xef0, 0x8375,
                              0xae7,  0x99c, 0x1035, 0xe9b, 0x551,  0x70d, 0x7a1, 0x90e0};
  EXPECT_EQ(host::multiply_add(kHopper, Factor::f16, true, a, b, 0), 0x8004u);
  EXPECT_EQ(half_sum_of(0, {{0x1p-13, 0x1p-12}, {0x1p-24, 0x1p-22}}), 0x1p-24) << "a tie, and a bit that is kept";
  EXPECT_EQ(half_sum_of(0, {{0x1p-13, 0x1p-12}, {0x1p-24, 0x1p-23}}), 0) << "a tie, and a bit that is cut off";
}

TEST(ProductRule, SumsAreCutToFp32) {
  EXPECT_EQ(sum_of(Factor::f16, 1, {{0x1p-12, 0x1p-12}, {0x1p-12, 0x1p-13}}), 1.f) << "1 + 1.5 units of 2^-24";
  EXPECT_EQ(sum_of(Factor::f16, -1, {{-0x1p-12, 0x1p-12}, {-0x1p-12, 0x1p-13}}), -1.f);
  EXPECT_EQ(sum_of(Factor::f16, 1, {{0x1p-12, 0x1p-12}, {0x1p-12, 0x1p-12}}), 1.f + 0x1p-23f);
}

TEST(ProductRule, HalfSumsAreRoundedOnceToNearestEven) {
  EXPECT_EQ(half_sum_of(2048, {{1, 1}}), 2048);
  EXPECT_EQ(half_sum_of(2050, {{1, 1}}), 2052);
  EXPECT_EQ(half_sum_of(2048, {{1, 1}, {0x1p-7, 0x1p-7}}), 2050) << "a bit above the tie, 25 below the exponent";
  EXPECT_EQ(half_sum_of(2048, {{1, 1}, {0x1p-8, 0x1p-7}}), 2048) << "cut off: a tie";
  EXPECT_EQ(half_sum_of(0, {{0x1p-12, 0x1p-13}}), 0) << "half of the least subnormal";
  EXPECT_EQ(half_sum_of(0x1p-24, {{0x1p-12, 0x1p-13}}), 0x1p-23) << "a tie between subnormals";
  EXPECT_EQ(half_sum_of(65504, {{8, 1}}), 65504);
  EXPECT_EQ(half_sum_of(65504, {{16, 1}}), kInfinity);
}

TEST(ProductRule, ZerosInfinitiesAndNansAreTheInstructions) {
  const auto bits = [](Factor factor, double c, const std::vector<Product>& products) {
    return std::bit_cast<u32>(sum_of(factor, c, products));
  };
  EXPECT_EQ(bits(Factor::f16, -0., {}), 0u);
  EXPECT_EQ(bits(Factor::f16, 1, {{-1, 1}}), 0u);
  EXPECT_EQ(bits(Factor::f16, 1, {{kInfinity, -2}}), 0xff800000u);
  EXPECT_EQ(bits(Factor::f16, -kInfinity, {{4, 4}}), 0xff800000u);
  EXPECT_EQ(bits(Factor::f16, 1, {{kInfinity, 0}}), 0x7fffffffu);
  EXPECT_EQ(bits(Factor::f16, -kInfinity, {{kInfinity, 1}}), 0x7fffffffu);
  EXPECT_EQ(bits(Factor::bf16, NAN, {}), 0x7fffffffu);
  EXPECT_EQ(bits(Factor::bf16, 0, {{0x1p100, 0x1p100}}), 0x7f800000u) << "too large";
  EXPECT_EQ(bits(Factor::bf16, 0, {{0x1p100, 0x1p100}, {-0x1p100, 0x1p100}, {1, 1}}), 0u);
  EXPECT_EQ(bits(Factor::bf16, 0x1.fffffep127, {{0x1p102, 1}}), 0x7f7fffffu) << "below 2^128 sums are cut";
  EXPECT_EQ(bits(Factor::bf16, 0x1.fffffep127, {{0x1p104, 1}}), 0x7f800000u);
  EXPECT_EQ(bits(Factor::bf16, 0, {{-0x1p-75, 0x1.8p-74}}), 0x80000001u) << "subnormal, cut";
  EXPECT_EQ(bits(Factor::bf16, 0, {{-0x1p-75, 0x1p-76}}), 0u) << "below the least subnormal";
  EXPECT_FALSE(std::signbit(half_sum_of(0, {{-0x1p-24, 0.25}}))) << "the same in fp16";
  EXPECT_EQ(half_sum_of(1, {{0x1p15, 0x1p15}}), kInfinity);
  EXPECT_EQ(host::multiply_add(kHopper, Factor::f16, true, {}, {}, 0x7e00), 0x7e00u) << "no products: as it was";
  const std::vector<u32> one = {bits_of(Factor::f16, 1)};
  EXPECT_EQ(host::multiply_add(kHopper, Factor::f16, true, one, one, 0xfe01), 0x7fffu);
}

TEST(ProductRule, AnAmpereTakesEightProductsAfterEight) {
  std::vector<Product> products(16, Product{0, 0});
  products[0] = {1, 1}, products[8] = {-1, 1}, products[9] = {0x1p-12, 0x1p-13};
  EXPECT_EQ(sum_of(Factor::f16, 0, products), 0x1p-25f);
  EXPECT_EQ(sum_of(Factor::f16, 0, products, kAmpere), 0) << "24 bits";
  products[9] = {0x1p-12, 0x1p-12};
  products[1] = products[9];
  EXPECT_EQ(sum_of(Factor::f16, 0, products), 0x1p-23f);
  EXPECT_EQ(sum_of(Factor::f16, 0, products, kAmpere), 0x1p-24f) << "the first eight are cut to fp32";
}

TEST(ProductRule, RulesThatNoSumHoldsAreRefused) {
  const std::vector<u32> one = {0x3c00};
  EXPECT_THROW(host::multiply_add({0, 25}, Factor::f16, false, one, one, 0), std::invalid_argument);
  EXPECT_THROW(host::multiply_add({16, 31}, Factor::f16, false, one, one, 0), std::invalid_argument);
  EXPECT_THROW(host::multiply_add(kHopper, Factor::f16, false, one, {}, 0), std::invalid_argument);
}

// Of what the matrices of a tile hold.
enum class Data { normal, wide, tiny, integers, cancelling, sparse, faint, extreme, special };

struct Tile {
  std::vector<u32> a = std::vector<u32>(16 * 16), b = std::vector<u32>(16 * 8), c = std::vector<u32>(16 * 8);
};

Tile draw(Factor factor, bool f16_sums, Data data, int depth, std::mt19937& random) {
  std::normal_distribution<double> normal;
  const auto below = [&](int count) { return int(random() % u32(count)); };
  const auto value = [&]() -> double {
    double x = normal(random);
    switch (data) {
      case Data::wide: return std::ldexp(x, below(20) - 10);
      case Data::tiny: return std::ldexp(x, -16);
      case Data::integers: return std::round(4 * x);
      case Data::sparse: return below(2) ? 0. : below(2) ? std::ldexp(x, -below(30)) : -0.;
      case Data::faint: return std::ldexp(x, factor == Factor::f16 ? -12 : -70 + below(40));
      case Data::extreme: return std::ldexp(x, factor == Factor::f16 ? below(40) - 24 : below(276) - 148);
      case Data::special:
        return below(20) ? x : std::array{kInfinity, -kInfinity, double{NAN}, 0.}[std::size_t(below(4))];
      default: return x;
    }
  };
  Tile tile;
  tile.a.resize(std::size_t(16 * depth)), tile.b.resize(std::size_t(8 * depth));
  for (u32& word : tile.a) word = bits_of(factor, value());
  for (u32& word : tile.b) word = bits_of(factor, value());
  if (data == Data::cancelling)
    for (int k = 0; k < depth / 2; ++k) {
      for (int row = 0; row < 16; ++row) {
        const double x = value_of(factor, tile.a[std::size_t(depth * row + k)]);
        tile.a[std::size_t(depth * row + k + depth / 2)] = bits_of(factor, k == 0 ? -x * (1 + 0x1p-7) : -x);
      }
      for (int j = 0; j < 8; ++j) tile.b[std::size_t(8 * (k + depth / 2) + j)] = tile.b[std::size_t(8 * k + j)];
    }
  for (u32& word : tile.c) {
    const double x = data == Data::cancelling ? 0 : data == Data::faint ? std::ldexp(value(), -60) : 4 * value();
    word = f16_sums ? host::encode<Dtype::f16>(x) : std::bit_cast<u32>(static_cast<float>(x));
  }
  return tile;
}

// The rule again, in double: products and terms of a group are exact there.
u32 plain(const ProductRule& rule, Factor factor, bool f16_sums, const Tile& tile, int depth, int row, int column) {
  const int least = factor == Factor::f16 ? -14 : -126;
  const auto exponent = [](double x, int smallest) {
    return x == 0 || !std::isfinite(x) ? -9999 : std::max(std::ilogb(x), smallest);
  };
  const u32 word = tile.c[std::size_t(8 * row + column)];
  double c = f16_sums ? value_of(Factor::f16, word) : std::bit_cast<float>(word);
  for (int first = 0; first < depth; first += rule.group) {
    const int last = std::min(depth, first + rule.group);
    const int least_sum = f16_sums ? -14 : -126;
    int largest = std::max(exponent(c, least_sum), least_sum - rule.below_least);
    double special = c;
    for (int k = first; k < last; ++k) {
      const double x = value_of(factor, tile.a[std::size_t(depth * row + k)]);
      const double y = value_of(factor, tile.b[std::size_t(8 * k + column)]);
      special += x * y;
      if (x != 0 && y != 0) largest = std::max(largest, exponent(x, least) + exponent(y, least));
    }
    if (!std::isfinite(special)) {
      c = special;
      continue;
    }
    const auto cut = [&](double term) { return std::trunc(std::ldexp(term, rule.fraction_bits - largest)); };
    double sum = cut(c);
    for (int k = first; k < last; ++k)
      sum += cut(value_of(factor, tile.a[std::size_t(depth * row + k)]) *
                 value_of(factor, tile.b[std::size_t(8 * k + column)]));
    const double exact = sum == 0 ? 0 : std::ldexp(sum, largest - rule.fraction_bits);
    if (f16_sums) {
      c = round_to(Dtype::f16, exact) + 0.;  // -0 becomes +0
    } else {
      const double unit = std::ldexp(1., std::max(exact == 0 ? 0 : std::ilogb(exact), -126) - 23);
      c = std::abs(exact) >= 0x1p128 ? std::copysign(kInfinity, exact) : std::trunc(exact / unit) * unit + 0.;
    }
  }
  if (std::isnan(c)) return f16_sums ? 0x7fff : 0x7fffffff;
  return f16_sums ? host::encode<Dtype::f16>(c) : std::bit_cast<u32>(static_cast<float>(c));
}

// The fast path of tiles, the slow one of single outputs and the rule in double agree in every bit.
TEST(ProductRule, TilesAreTheSameByEveryWay) {
  std::mt19937 random(1);
  for (const ProductRule rule : {kHopper, kAmpere, ProductRule{4, 23}, ProductRule{16, 26}})
    for (const Factor factor : {Factor::f16, Factor::bf16, Factor::tf32})
      for (const bool f16_sums : {false, true})
        for (const int depth : {8, 16})
          for (int data = 0; data <= int(Data::special); ++data) {
            if (f16_sums && factor != Factor::f16) continue;
            for (int repeat = 0; repeat < 8; ++repeat) {
              const Tile tile = draw(factor, f16_sums, Data(data), depth, random);
              std::vector<u32> sums = tile.c;
              host::multiply_tile(rule, factor, f16_sums, depth, tile.a.data(), tile.b.data(), sums.data());
              for (int i = 0; i < 128; ++i) {
                std::vector<u32> column;
                for (int k = 0; k < depth; ++k) column.push_back(tile.b[std::size_t(8 * k + i % 8)]);
                const u32 one = host::multiply_add(
                    rule, factor, f16_sums, std::span(tile.a).subspan(std::size_t(i / 8 * depth), std::size_t(depth)),
                    column, tile.c[std::size_t(i)]);
                ASSERT_EQ(sums[std::size_t(i)], one)
                    << "factor " << int(factor) << " data " << data << " depth " << depth;
                ASSERT_EQ(one, plain(rule, factor, f16_sums, tile, depth, i / 8, i % 8))
                    << "factor " << int(factor) << " data " << data << " depth " << depth << " f16 " << f16_sums;
              }
            }
          }
}

}  // namespace
}  // namespace danaus
