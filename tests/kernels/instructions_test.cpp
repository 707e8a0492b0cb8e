// Device operations on the CPU compute what the instructions compute: fragment layouts and roundings.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/device/operations.hpp"
#include "kernels/executor/executor.hpp"
#include "kernels/tile/fp32.hpp"
#include "reference/half.hpp"
#include "tests/kernels/executor_support.hpp"

namespace danaus {
namespace {

using host::Executor;

// Fragments as the PTX manual draws them for m16n8k16: group g = lane / 4, thread of the group t = lane % 4.
//   A a0,a1: row g, columns 2t, 2t+1   a2,a3: row g + 8   a4,a5: row g, columns + 8   a6,a7: row g + 8, columns + 8
//   B b0,b1: rows 2t, 2t+1, column g   b2,b3: rows + 8
//   C c0,c1: row g, columns 2t, 2t+1   c2,c3: row g + 8
struct Matrices {
  double a[16][16], b[16][8], c[16][8];
  Matrices() { fill_with_small_integers(a, b, c); }
  double product(int row, int column) const {
    double sum = c[row][column];
    for (int k = 0; k < 16; ++k) sum += a[row][k] * b[k][column];
    return sum;
  }
  template <Dtype T>
  void load(u32 (&fa)[4], u32 (&fb)[2]) const {
    const int g = device::lane_index() / 4, t = device::lane_index() % 4;
    fa[0] = pair<T>(a[g][2 * t], a[g][2 * t + 1]), fa[1] = pair<T>(a[g + 8][2 * t], a[g + 8][2 * t + 1]);
    fa[2] = pair<T>(a[g][2 * t + 8], a[g][2 * t + 9]), fa[3] = pair<T>(a[g + 8][2 * t + 8], a[g + 8][2 * t + 9]);
    fb[0] = pair<T>(b[2 * t][g], b[2 * t + 1][g]), fb[1] = pair<T>(b[2 * t + 8][g], b[2 * t + 9][g]);
  }
};

TEST(Instructions, MmaMultipliesMatricesOfSmallIntegersExactly) {
  const Matrices m;
  Executor().run({}, [&] {
    const int g = device::lane_index() / 4, t = device::lane_index() % 4;
    u32 a[4], b[2];
    m.load<Dtype::f16>(a, b);
    u32 halves[2] = {pair<Dtype::f16>(m.c[g][2 * t], m.c[g][2 * t + 1]),
                     pair<Dtype::f16>(m.c[g + 8][2 * t], m.c[g + 8][2 * t + 1])};
    device::mma_f16acc(halves, a, b);
    float floats[2][4];
    for (auto& f : floats)
      f[0] = m.c[g][2 * t], f[1] = m.c[g][2 * t + 1], f[2] = m.c[g + 8][2 * t], f[3] = m.c[g + 8][2 * t + 1];
    device::mma_f32acc<Dtype::f16>(floats[0], a, b);
    m.load<Dtype::bf16>(a, b);
    device::mma_f32acc<Dtype::bf16>(floats[1], a, b);
    for (int i = 0; i < 4; ++i) {
      const double expected = m.product(g + 8 * (i / 2), 2 * t + i % 2);
      EXPECT_EQ(device::detail::half_of<Dtype::f16>(halves[i / 2], i % 2), expected);
      EXPECT_EQ(floats[0][i], expected);
      EXPECT_EQ(floats[1][i], expected);
    }
  });
}

TEST(Instructions, MmaRoundsHalfAccumulatorsOnce) {
  // 2048 + 15 x 0.25 needs more than 11 bits: 2052 after one rounding, 2048 if each addition were rounded.
  Executor().run({}, [] {
    const u32 quarter = pair<Dtype::f16>(0.25, 0.25), one = pair<Dtype::f16>(1, 1);
    u32 halves[2] = {pair<Dtype::f16>(2048, 2048), pair<Dtype::f16>(2048, 2048)};
    float floats[4] = {2048, 2048, 2048, 2048};
    device::mma_f16acc(halves, {quarter, quarter, quarter, quarter}, {one, one});
    device::mma_f32acc<Dtype::f16>(floats, {quarter, quarter, quarter, quarter}, {one, one});
    EXPECT_EQ(device::detail::half_of<Dtype::f16>(halves[1], 0), 2052);
    EXPECT_EQ(floats[3], 2052);
    halves[0] = pair<Dtype::f16>(2048, 2048), floats[0] = 2048;
    const u32 first = device::lane_index() % 4 == 0 ? pair<Dtype::f16>(1, 0) : 0;
    device::mma_f16acc(halves, {first, 0, 0, 0}, {first, 0});
    device::mma_f32acc<Dtype::f16>(floats, {first, 0, 0, 0}, {one, 0});
    EXPECT_EQ(device::detail::half_of<Dtype::f16>(halves[0], 0), 2048);  // ties to even
    EXPECT_EQ(floats[0], 2049);
  });
}

// Integers of up to 11 bits are exact in TF32, their products and few sums in fp32.
TEST(Instructions, MmaMultipliesMatricesOfTf32) {
  const Matrices m;
  Executor().run({}, [&] {
    const int g = device::lane_index() / 4, t = device::lane_index() % 4;
    const auto word = [](double value) { return std::bit_cast<u32>(static_cast<float>(511 * value)); };
    const u32 a[4] = {word(m.a[g][t]), word(m.a[g + 8][t]), word(m.a[g][t + 4]), word(m.a[g + 8][t + 4])};
    const u32 b[2] = {word(m.b[t][g]), word(m.b[t + 4][g])};
    float d[4];
    for (int i = 0; i < 4; ++i) d[i] = m.c[g + 8 * (i / 2)][2 * t + i % 2];
    device::mma_tf32(d, a, b);
    for (int i = 0; i < 4; ++i) {
      const int row = g + 8 * (i / 2), column = 2 * t + i % 2;
      double sum = m.c[row][column];
      for (int k = 0; k < 8; ++k) sum += 511 * 511 * m.a[row][k] * m.b[k][column];
      EXPECT_EQ(d[i], sum);
    }
  });
}

// 1 + 3 x 2^-25 is nearer to 1 + 2^-23 than to 1.
TEST(Instructions, MmaCutsSumsInFp32) {
  Executor().run({}, [] {
    const u32 first = device::lane_index() % 4 == 0 ? pair<Dtype::f16>(1, 0) : 0;
    const u32 small = pair<Dtype::bf16>(3 * 0x1p-25, 0), one = pair<Dtype::bf16>(1, 0);
    for (float sign : {1.f, -1.f}) {
      float sum[4] = {sign}, of_tf32[4] = {sign};
      const u32 lane = first ? (sign > 0 ? one : one | 0x8000u) : 0;
      device::mma_f32acc<Dtype::bf16>(sum, {lane, 0, 0, 0}, {small, 0});
      device::mma_tf32(of_tf32, {first ? std::bit_cast<u32>(sign) : 0, 0, 0, 0}, {std::bit_cast<u32>(3 * 0x1p-25f), 0});
      EXPECT_EQ(sum[0], sign);
      EXPECT_EQ(of_tf32[0], sign);
    }
  });
}

TEST(Instructions, Tf32CutsWhatWasNotRounded) {
  Executor().run({}, [] {
    const float value = 1 + 0x1p-10f + 0x1p-11f;  // half way between two numbers
    const u32 one = std::bit_cast<u32>(1.f), bits = std::bit_cast<u32>(value);
    float cut[4] = {}, rounded[4] = {};
    const u32 first = device::lane_index() % 4 == 0 ? one : 0;
    device::mma_tf32(cut, {first, 0, 0, 0}, {bits, 0});
    device::mma_tf32(rounded, {first, 0, 0, 0}, {device::round_tf32(value), 0});
    EXPECT_EQ(cut[0], 1 + 0x1p-10f);
    EXPECT_EQ(rounded[0], 1 + 0x1p-9f);
    EXPECT_EQ(device::round_tf32(-value), std::bit_cast<u32>(-1 - 0x1p-9f));
    EXPECT_EQ(device::round_tf32(1 + 0x1p-11f - 0x1p-23f), one);
    EXPECT_EQ(device::round_tf32(INFINITY), std::bit_cast<u32>(INFINITY));
    EXPECT_EQ(device::round_tf32(0x1.fffffep127f), std::bit_cast<u32>(INFINITY));
  });
}

// Matrix m, row r, column c holds 64 m + 8 r + c; the rows lie in shared memory in an order of their own.
SharedAddress place_of_row(int row) { return 16 * ((row * 5 + 3) % 32); }

template <int count, bool transposed>
void check_matrices() {
  Executor().run({.shared_bytes = 512}, [] {
    const int lane = device::lane_index(), g = lane / 4, t = lane % 4;
    const auto element = [](int m, int row, int column) { return u32(64 * m + 8 * row + column); };
    Words<4> row;
    for (int i = 0; i < 4; ++i)
      row[i] = element(lane / 8, lane % 8, 2 * i) | element(lane / 8, lane % 8, 2 * i + 1) << 16;
    device::store_shared<16>(place_of_row(lane), row);
    device::sync_warp();
    const Words<count> loaded = device::load_matrices<count, transposed>(place_of_row(lane));
    for (int m = 0; m < count; ++m)
      for (int e = 0; e < 2; ++e)
        EXPECT_EQ(loaded[m] >> 16 * e & 0xffff, transposed ? element(m, 2 * t + e, g) : element(m, g, 2 * t + e));
    // Writing what was read, one row place further, moves the matrices as they are.
    device::sync_warp();
    device::store_matrices<count, transposed>(place_of_row((lane + 1) % 32), loaded);
    device::sync_warp();
    if (lane < 8 * count) {
      const Words<4> moved = device::load_shared<16>(place_of_row((lane + 1) % 32));
      EXPECT_EQ(std::to_array(moved.word), std::to_array(row.word));
    }
  });
}

TEST(Instructions, MatricesMoveByRowsOfSharedMemory) {
  check_matrices<1, false>(), check_matrices<2, false>(), check_matrices<4, false>();
  check_matrices<1, true>(), check_matrices<2, true>(), check_matrices<4, true>();
}

TEST(Instructions, ShufflesTakeAnyLanesValue) {
  Executor().run({}, [] {
    const int lane = device::lane_index();
    EXPECT_EQ(device::shuffle(u32(lane * lane), (lane + 5) % 32), u32((lane + 5) % 32 * ((lane + 5) % 32)));
  });
}

template <Dtype T>
void check_packed_arithmetic() {
  std::mt19937 random(2);
  std::normal_distribution<double> normal(0, 100);
  for (int i = 0; i < 2000; ++i) {
    double x[3][2];
    for (auto& v : x)
      for (double& value : v) value = round_to(T, normal(random));
    Executor().run({.threads = 1}, [&] {
      const u32 a = pair<T>(x[0][0], x[0][1]), b = pair<T>(x[1][0], x[1][1]), c = pair<T>(x[2][0], x[2][1]);
      for (int e = 0; e < 2; ++e) {
        const auto value = [e](u32 word) { return device::detail::half_of<T>(word, e); };
        EXPECT_EQ(value(device::add2<T>(a, b)), round_to(T, x[0][e] + x[1][e]));
        EXPECT_EQ(value(device::sub2<T>(a, b)), round_to(T, x[0][e] - x[1][e]));
        EXPECT_EQ(value(device::mul2<T>(a, b)), round_to(T, x[0][e] * x[1][e]));
        EXPECT_EQ(value(device::fma2<T>(a, b, c)), round_to(T, x[0][e] * x[1][e] + x[2][e]));
        EXPECT_EQ(value(device::fms2<T>(a, b, c)), round_to(T, x[0][e] * x[1][e] - x[2][e]));
        EXPECT_EQ(value(device::max2<T>(a, b)), std::max(x[0][e], x[1][e]));
        EXPECT_EQ(value(device::negate2(a)), -x[0][e]);
      }
      EXPECT_EQ(device::lower_float<T>(a), x[0][0]);
      EXPECT_EQ(device::upper_float<T>(a), x[0][1]);
      EXPECT_EQ(device::pack2<T>(float(x[0][0]), float(x[0][1])), a);
    });
  }
}

TEST(Instructions, PackedArithmeticRoundsOnce) {
  check_packed_arithmetic<Dtype::f16>();
  check_packed_arithmetic<Dtype::bf16>();
}

// A sum far below a tie decides it, whatever type lies in between.
TEST(Instructions, PackedArithmeticRoundsTiesByWhatIsFarBelow) {
  Executor().run({.threads = 1}, [] {
    const auto lower = [](u32 word) { return device::detail::half_of<Dtype::bf16>(word, 0); };
    EXPECT_EQ(device::detail::half_of<Dtype::f16>(
                  device::fma2(pair<Dtype::f16>(3, 0), pair<Dtype::f16>(683, 0), pair<Dtype::f16>(0x1p-24, 0)), 0),
              2050);
    const u32 seven = pair<Dtype::bf16>(7, 0), other = pair<Dtype::bf16>(37, 0), tiny = pair<Dtype::bf16>(0x1p-120, 0);
    EXPECT_EQ(lower(device::fma2<Dtype::bf16>(seven, other, 0)), 260);
    EXPECT_EQ(lower(device::fms2<Dtype::bf16>(seven, other, tiny)), 258);
    EXPECT_EQ(device::max2(0x80000000u, 0x00008000u), 0u) << "+0 is greater than -0";
  });
}

template <Dtype T>
void check_encoding() {
  std::mt19937_64 random(3);
  const auto check = [](double value) {
    EXPECT_EQ(host::decode<T>(host::encode<T>(value)), round_to(T, value)) << value;
    EXPECT_EQ(host::encode<T>(value) >> 15, std::signbit(value)) << value;
  };
  for (u32 bits = 0; bits < 0xffff; ++bits) {
    const double value = host::decode<T>(std::uint16_t(bits)), next = host::decode<T>(std::uint16_t(bits + 1));
    if (!std::isfinite(value)) continue;
    check(value);
    if (!std::isfinite(next) || std::signbit(next) != std::signbit(value)) continue;
    const double tie = (value + next) / 2;
    check(tie), check(std::nextafter(tie, 0)), check(std::nextafter(tie, 2 * tie));
  }
  for (int i = 0; i < 100'000; ++i) {
    const double value = std::bit_cast<double>(random());
    if (!std::isnan(value)) check(value);
  }
  EXPECT_EQ(host::encode<T>(NAN), 0x7fff);
  EXPECT_EQ(host::encode<T>(INFINITY), T == Dtype::f16 ? 0x7c00 : 0x7f80);
  EXPECT_EQ(host::encode<T>(T == Dtype::f16 ? 65519.99999 : 0x1.feffffp127), T == Dtype::f16 ? 0x7bff : 0x7f7f);
  EXPECT_EQ(host::encode<T>(T == Dtype::f16 ? 65520 : 0x1.ffp127), T == Dtype::f16 ? 0x7c00 : 0x7f80);
}

TEST(Instructions, DoublesAreRoundedToHalvesOnce) {
  check_encoding<Dtype::f16>();
  check_encoding<Dtype::bf16>();
}

TEST(Instructions, EveryHalfHasItsValue) {
  for (u32 bits = 0; bits < 0x10000; ++bits) {
    const int exponent = int(bits >> 10 & 0x1f), fraction = int(bits & 0x3ff);
    double value = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    if (exponent == 31) value = fraction == 0 ? INFINITY : NAN;
    const float decoded = host::decode<Dtype::f16>(std::uint16_t(bits));
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(decoded)) << bits;
    else
      EXPECT_EQ(decoded, bits & 0x8000 ? -value : value) << bits;
    EXPECT_EQ(std::signbit(decoded), bits >> 15) << bits;
  }
}

TEST(Instructions, TheGreatestOfAWarpIsEveryLanes) {
  Executor().run({.threads = 64}, [] {
    const u32 own = device::thread_index() == 9 ? 0x80000000u : device::thread_index();
    EXPECT_EQ(device::max_of_warp(own), device::warp_index() == 0 ? 0x80000000u : 63u);
  });
}

TEST(Instructions, BytesOfTwoWordsPermute) {
  Executor().run({.threads = 1}, [] {
    EXPECT_EQ(device::permute_bytes(0x33221100, 0x77665544, 0x5410), 0x55441100u);
    EXPECT_EQ(device::permute_bytes(0x33221100, 0x77665544, 0x7632), 0x77663322u);
    EXPECT_EQ(device::permute_bytes(0x33221100, 0x77665544, 0x1054), 0x11005544u);
  });
}

TEST(Instructions, TurnsAreNearTheirAngles) {
  for (const int denominator : {1, 7, 24, 4096, 3 << 14, 1 << 20})
    for (int numerator = -denominator; numerator <= denominator; numerator += denominator > 4096 ? 37 : 1) {
      const fp32::Complex turn = fp32::turn(numerator, denominator);
      // Of the quotient in fp32, whose own error is no part of the turn's.
      const double angle = std::numbers::pi * (static_cast<float>(numerator) / static_cast<float>(denominator));
      ASSERT_NEAR(turn.re, std::cos(angle), 0x1p-24) << numerator << " of " << denominator;
      ASSERT_NEAR(turn.im, std::sin(angle), 0x1p-24) << numerator << " of " << denominator;
    }
  EXPECT_EQ(fp32::turn(1, 2).re, 0);
  EXPECT_EQ(fp32::turn(-1, 2).im, -1);
  EXPECT_EQ(fp32::turn(1, 1).re, -1);
}

}  // namespace
}  // namespace danaus
