// Products of a group of warps: what they compute, and what the executor refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/device/warpgroup.hpp"
#include "tests/kernels/executor_support.hpp"

namespace danaus {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int kThreads = 128, kRows = 64;
constexpr SharedAddress kB = 1024;

template <int columns>
struct Operands {
  double a[kRows][16], b[16][columns];
  Operands() { fill_with_small_integers(a, b); }
  double product(int row, int column) const {
    double sum = 0;
    for (int k = 0; k < 16; ++k) sum += a[row][k] * b[k][column];
    return sum;
  }
  template <Dtype T>
  void load(u32 (&words)[4]) const {
    const int row = 16 * device::warp_index() + device::lane_index() / 4, t = device::lane_index() % 4;
    for (int r = 0; r < 4; ++r) {
      const double* of = &a[row + 8 * (r % 2)][2 * t + 8 * (r / 2)];
      words[r] = pair<T>(of[0], of[1]);
    }
  }
  // Points 16 `step` and on of each line of 128 bytes, with the 128-byte swizzle; all threads share the work.
  template <Dtype T>
  void store(int step) const {
    for (int i = device::thread_index(); i < 8 * columns; i += kThreads) {
      const int column = i / 8, k = i % 8 * 2, piece = 2 * step + k / 8;
      device::store_shared<4>(kB + 128 * column + 16 * (piece ^ (column % 8)) + 2 * (k % 8),
                              {pair<T>(b[k][column], b[k + 1][column])});
    }
  }
};

template <Dtype T, int columns>
void expect_products() {
  const Operands<columns> of;
  const host::Counters counters = run(kThreads, kB + 128 * columns, [&] {
    of.template store<T>(0), of.template store<T>(3);
    device::fence_async();
    device::sync_block();
    u32 a[4];
    of.template load<T>(a);
    float d[columns / 8][4];
    for (auto& tile : d)
      for (float& sum : tile) sum = 1000;
    device::group_fence(d, a);
    device::group_multiply<T, false>(d, a, kB);
    device::group_multiply<T, true>(d, a, kB + 96);
    device::group_commit();
    device::group_wait<0>(d);
    const int row = 16 * device::warp_index() + device::lane_index() / 4, t = device::lane_index() % 4;
    for (int j = 0; j < columns / 8; ++j)
      for (int i = 0; i < 4; ++i)
        EXPECT_EQ(d[j][i], 2 * of.product(row + 8 * (i / 2), 8 * j + 2 * t + i % 2)) << row << ' ' << j << ' ' << i;
  });
  EXPECT_EQ(counters.mma_group, 2u * 4 * columns / 8);
}

TEST(Groups, MultiplyMatricesOfSmallIntegersExactly) {
  expect_products<Dtype::f16, 64>();
  expect_products<Dtype::bf16, 128>();
}

// Two batches: the first is done when one may still be under way, the second later.
TEST(Groups, AreDoneWhereTheyAreWaitedFor) {
  run(kThreads, kB + 128 * 64, [] {
    for (int i = device::thread_index(); i < 64 * 32; i += kThreads)
      device::store_shared<4>(kB + 4 * i, {pair<Dtype::f16>(1, 1)});
    device::fence_async();
    device::sync_block();
    const u32 a[4] = {pair<Dtype::f16>(1, 1), 0, 0, 0};
    float first[8][4] = {}, second[8][4] = {};
    device::group_fence(first, second, a);
    device::group_multiply<Dtype::f16, true>(first, a, kB);
    device::group_commit();
    device::group_multiply<Dtype::f16, true>(second, a, kB);
    device::group_commit();
    EXPECT_EQ(first[0][0], 0);
    device::group_wait<1>(first);
    EXPECT_EQ(first[0][0], 8);
    EXPECT_EQ(second[0][0], 0);
    device::group_wait<0>(second);
    EXPECT_EQ(second[7][1], 8);
    EXPECT_EQ(second[7][2], 0);
  });
}

std::string refused(const std::function<void(float (&)[8][4])>& after, bool fences = true, SharedAddress b = kB,
                    int threads = kThreads) {
  return violation_in_any_order(threads, kB + 128 * 64 + 1024, [&] {
    float d[8][4] = {};
    for (int i = device::thread_index(); i < 64 * 32; i += threads) device::store_shared<4>(kB + 4 * i, {0});
    if (fences) device::fence_async();
    device::sync_block();
    const u32 a[4] = {};
    device::group_fence(d, a);
    device::group_multiply<Dtype::f16, true>(d, a, b);
    device::group_commit();
    after(d);
  });
}

TEST(Groups, RefuseWhatAGpuLetsPass) {
  const auto wait = [](float(&d)[8][4]) { device::group_wait<0>(d); };
  EXPECT_EQ(refused(wait), "no violation");
  EXPECT_THAT(refused(wait, false), HasSubstr("which has not called fence_async since"));
  EXPECT_THAT(refused([](float(&)[8][4]) {}), HasSubstr("with 1 products of a group that nothing waited for"));
  EXPECT_THAT(refused(wait, true, kB + 16), HasSubstr("must be a multiple of 32 in the first 128 bytes of 1024"));
  EXPECT_THAT(refused(wait, true, kB + 128), HasSubstr("must be a multiple of 32 in the first 128 bytes of 1024"));
  EXPECT_THAT(refused(wait, true, kB + 1024 * 8), HasSubstr("are read before anything wrote them"));
  EXPECT_THAT(refused(wait, true, kB, 64), HasSubstr("the block has 64 threads, must be whole groups"));
  const auto write = [](float(&d)[8][4]) {
    if (device::lane_index() == 1) device::store_shared<4>(kB, {0});
    device::group_wait<0>(d);
  };
  EXPECT_THAT(refused(write), HasSubstr("are read by a copy of thread"));
}

// Registers of a group's products, as `before` leaves them.
std::string refused_registers(const std::function<void(float (&)[8][4], u32 (&)[4])>& before) {
  return violation_in_any_order(kThreads, kB + 128 * 64, [&] {
    for (int i = device::thread_index(); i < 64 * 32; i += kThreads)
      device::store_shared<4>(kB + 4 * i, {pair<Dtype::f16>(1, 1)});
    device::fence_async();
    device::sync_block();
    float d[8][4] = {};
    u32 a[4] = {pair<Dtype::f16>(1, 1)};
    before(d, a);
    device::group_multiply<Dtype::f16, true>(d, a, kB);
    device::group_multiply<Dtype::f16, true>(d, a, kB + 32);
    device::group_commit();
    device::group_wait<0>(d);
    device::group_multiply<Dtype::f16, true>(d, a, kB);  // what products left takes no fence
    device::group_commit();
    device::group_wait<0>(d);
  });
}

TEST(Groups, RegistersThatWereWrittenTakeAFence) {
  const auto fence = [](auto& d, auto& a) { device::group_fence(d, a); };
  EXPECT_EQ(refused_registers(fence), "no violation");
  EXPECT_THAT(refused_registers([](auto&, auto&) {}), AllOf(HasSubstr("group_multiply at executor_groups_test.cpp:"),
                                                            HasSubstr("no group_fence was told of its operand")));
  EXPECT_THAT(refused_registers([](auto&, auto& a) { device::group_fence(a); }),
              HasSubstr("no group_fence was told of its accumulators"));
  EXPECT_THAT(refused_registers([&](auto& d, auto& a) {
                fence(d, a);
                d[7][3] = 1;
              }),
              HasSubstr("its accumulators were written after group_fence at executor_groups_test.cpp:"));
  EXPECT_THAT(refused_registers([&](auto& d, auto& a) {
                fence(d, a);
                a[0] = 0;
              }),
              HasSubstr("its operand were written after group_fence at "));
  EXPECT_THAT(refused_registers([&](auto& d, auto& a) {
                if (device::lane_index() > 3) fence(d, a);
                fence(d, a);
              }),
              HasSubstr("thread 0 of the warp does not come here"));
}

// The first `warps` warps of the group multiply.
std::string refused_without_warps(int warps, int multiplied_again) {
  return violation_in_any_order(kThreads, kB + 128 * 64, [&] {
    for (int i = device::thread_index(); i < 64 * 32; i += kThreads) device::store_shared<4>(kB + 4 * i, {0});
    device::fence_async();
    device::sync_block();
    float d[8][4] = {};
    u32 a[4] = {};
    const int warp = device::warp_index();
    if (warp >= warps) return;
    device::group_fence(d, a);
    device::group_multiply<Dtype::f16, true>(d, a, kB);
    if (warp == multiplied_again) device::group_multiply<Dtype::f16, true>(d, a, kB + 32);
    device::group_commit();
    device::group_wait<0>(d);
  });
}

TEST(Groups, GoThroughTheSameOperations) {
  EXPECT_EQ(refused_without_warps(4, -1), "no violation");
  EXPECT_THAT(refused_without_warps(3, -1),
              HasSubstr("block 0 ended though warp 3 of a group has not come to group_multiply at "
                        "executor_groups_test.cpp:"));
  EXPECT_THAT(refused_without_warps(1, -1), HasSubstr("where warp 0 was"));
  EXPECT_THAT(refused_without_warps(4, 2), AllOf(HasSubstr("another warp of the group went through group_"),
                                                 HasSubstr(" at executor_groups_test.cpp:")));
}

}  // namespace
}  // namespace danaus
