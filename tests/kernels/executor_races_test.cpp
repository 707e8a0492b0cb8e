// Accesses that no barrier orders are refused, in every order in which the lanes may run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tests/kernels/executor_support.hpp"

namespace danaus {
namespace {

using host::Executor;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kOrdered = "no violation";

// ---- barriers of warps and blocks

template <bool barrier>
void second_warp_reads_the_first(u32* y) {
  const int t = device::thread_index();
  if (t < 32) device::store_shared<4>(4 * t, {u32(t)});
  if (barrier) device::sync_block();
  if (t >= 32) device::store_global<4>(y + t - 32, device::load_shared<4>(4 * (t - 32)));
}

template <bool barrier>
void lanes_pass_values_on(u32* y) {
  const int lane = device::lane_index();
  device::store_shared<4>(4 * lane, {~0u});
  device::sync_warp();
  device::store_shared<4>(4 * lane, {u32(lane)});
  if (barrier) device::sync_warp();
  device::store_global<4>(y + (lane + 31) % 32, device::load_shared<4>(4 * ((lane + 31) % 32)));
}

TEST(ExecutorRaces, ReadsWithoutABarrierAreRefused) {
  std::vector<u32> y(32);
  Executor executor;
  executor.declare("y", y.data(), 128, true);
  const auto refused = [&](int threads, void (*kernel)(u32*)) {
    std::fill(y.begin(), y.end(), ~0u);
    return violation_in_any_order({.threads = threads, .shared_bytes = 128}, executor, [&] { kernel(y.data()); });
  };
  EXPECT_EQ(refused(64, second_warp_reads_the_first<true>), kOrdered);
  EXPECT_EQ(y, iota(32));
  EXPECT_EQ(refused(32, lanes_pass_values_on<true>), kOrdered);
  EXPECT_EQ(y, iota(32));
  EXPECT_THAT(
      refused(64, second_warp_reads_the_first<false>),
      AllOf(HasSubstr("load_shared at executor_races_test.cpp:26 by thread 32 of block 0: shared bytes 0 to 4 "),
            HasSubstr("were written by thread 0 at executor_races_test.cpp:24, with no barrier since")));
  EXPECT_THAT(refused(32, lanes_pass_values_on<false>), HasSubstr("with no barrier since"));
}

TEST(ExecutorRaces, AWarpsBarrierIsNoneForAnotherWarp) {
  EXPECT_THAT(violation_in_any_order(64, 4,
                                     [] {
                                       if (device::thread_index() == 0) device::store_shared<4>(0, {});
                                       device::sync_warp();
                                       if (device::thread_index() == 32) device::load_shared<4>(0);
                                     }),
              HasSubstr("were written by thread 0"));
}

// Writes after reads, writes after writes: of one reader, and of several that have not seen each other.
TEST(ExecutorRaces, WritesWithoutABarrierAreRefused) {
  const auto write_after = [](int first, int last, bool read, bool barrier) {
    return violation_in_any_order(64, 4, [=] {
      const int t = device::thread_index();
      if (t == 0) device::store_shared<4>(0, {});
      device::sync_block();
      if (t >= first && t < last) {
        if (read)
          device::load_shared<4>(0);
        else
          device::store_shared<4>(0, {});
      }
      if (barrier) device::sync_block();
      if (t == 40) device::store_shared<4>(0, {});
    });
  };
  EXPECT_THAT(write_after(3, 4, true, false), HasSubstr("are read by thread 3 at executor_races_test.cpp:"));
  EXPECT_THAT(write_after(3, 9, true, false), HasSubstr("are read by thread"));
  EXPECT_THAT(write_after(38, 41, true, false), HasSubstr("are read by thread"));
  EXPECT_THAT(write_after(3, 4, false, false), HasSubstr("were written by thread 3"));
  EXPECT_EQ(write_after(40, 41, true, false), kOrdered);  // its own
  EXPECT_EQ(write_after(40, 41, false, false), kOrdered);
  EXPECT_EQ(write_after(0, 64, true, true), kOrdered);
  EXPECT_EQ(write_after(3, 4, false, true), kOrdered);
}

TEST(ExecutorRaces, ReadersAreForgottenOnceAllHaveSeenThem) {
  EXPECT_EQ(violation_in_any_order(64, 4,
                                   [] {
                                     for (int round = 0; round < 3; ++round) {
                                       if (device::thread_index() == 21 * round) device::store_shared<4>(0, {});
                                       device::sync_block();
                                       device::load_shared<4>(0);
                                       device::sync_warp();
                                       device::load_shared<4>(0);
                                       device::sync_block();
                                     }
                                   }),
            kOrdered);
}

enum class Between { nothing, shuffle, product, barrier };

void stand(Between between) {
  u32 d[2] = {};
  if (between == Between::shuffle) device::shuffle(0, 0);
  if (between == Between::product) device::mma_f16acc(d, {0, 0, 0, 0}, {0, 0});
  if (between == Between::barrier) device::sync_warp();
}

// Warps meet there, but order nothing.
TEST(ExecutorRaces, MatricesProductsAndShufflesAreNoBarriers) {
  const auto stored_then_loaded = [](bool transposed, Between between) {
    return violation_in_any_order(32, 512, [=] {
      const SharedAddress row = 16 * device::lane_index();
      device::store_shared<16>(row, {});
      stand(between);
      transposed ? device::load_matrices<4, true>(row) : device::load_matrices<4, false>(row);
    });
  };
  const auto moved_and_loaded = [](bool transposed, Between between) {
    return violation_in_any_order(32, 512, [=] {
      const SharedAddress row = 16 * device::lane_index();
      transposed ? device::store_matrices<4, true>(row, {}) : device::store_matrices<4, false>(row, {});
      stand(between);
      device::load_shared<16>(row);
    });
  };
  const auto loaded_then_stored = [](bool transposed, Between between) {
    return violation_in_any_order(32, 512, [=] {
      const SharedAddress row = 16 * device::lane_index();
      device::store_shared<16>(row, {});
      device::sync_warp();
      transposed ? device::load_matrices<4, true>(row) : device::load_matrices<4, false>(row);
      stand(between);
      device::store_shared<16>(row, {});
    });
  };
  for (bool transposed : {false, true}) {
    for (Between between : {Between::nothing, Between::shuffle, Between::product}) {
      EXPECT_THAT(stored_then_loaded(transposed, between), HasSubstr("load_matrices at executor_races_test.cpp:"));
      EXPECT_THAT(moved_and_loaded(transposed, between), HasSubstr("were written by thread"));
      EXPECT_THAT(loaded_then_stored(transposed, between), HasSubstr("are read by thread"));
    }
    EXPECT_EQ(stored_then_loaded(transposed, Between::barrier), kOrdered);
    EXPECT_EQ(moved_and_loaded(transposed, Between::barrier), kOrdered);
    EXPECT_EQ(loaded_then_stored(transposed, Between::barrier), kOrdered);
  }
}

// In place, each lane its own elements: nobody else is concerned.
TEST(ExecutorRaces, MatricesMayBeStoredWhereTheyCameFrom) {
  EXPECT_EQ(violation_in_any_order(32, 512,
                                   [] {
                                     const SharedAddress row = 16 * device::lane_index();
                                     device::store_shared<16>(row, {});
                                     device::sync_warp();
                                     const Words<4> w = device::load_matrices<4, true>(row);
                                     device::store_matrices<4, true>(row, w);
                                   }),
            kOrdered);
}

// ---- mbarriers

constexpr SharedAddress kBarrier = 0, kData = 16;

// Warp 0 writes and arrives, warp 1 waits and reads: thread 32, and others by its barrier.
std::string handed_over(bool arrive_first, bool wait, bool pass_on) {
  return violation_in_any_order(64, 32, [=] {
    const int t = device::thread_index();
    if (t == 0) device::barrier_init(kBarrier, 1);
    device::sync_block();
    if (t == 0) {
      if (arrive_first) device::barrier_arrive(kBarrier);
      device::store_shared<4>(kData, {7});
      if (!arrive_first) device::barrier_arrive(kBarrier);
    }
    if (t == 32 && wait) device::barrier_wait(kBarrier, 0);
    if (pass_on && t >= 32) device::sync_warp();
    if (t == (pass_on ? 63 : 32)) device::load_shared<4>(kData);
  });
}

TEST(ExecutorRaces, AnArrivalHandsOverWhatCameBefore) {
  EXPECT_EQ(handed_over(false, true, false), kOrdered);
  EXPECT_EQ(handed_over(false, true, true), kOrdered);
  EXPECT_NE(handed_over(true, true, false), kOrdered);
  EXPECT_NE(handed_over(false, false, false), kOrdered);
  EXPECT_NE(handed_over(false, false, true), kOrdered);
}

TEST(ExecutorRaces, AWaitIsNoBarrierOfTheBlock) {
  const auto after_a_wait = [](bool barrier) {
    return violation_in_any_order(64, 32, [=] {
      const int t = device::thread_index();
      if (t == 0) device::barrier_init(kBarrier, 1), device::barrier_arrive(kBarrier);
      device::sync_block();
      if (t == 40) device::store_shared<4>(kData, {7});
      device::barrier_wait(kBarrier, 0);
      if (barrier) device::sync_block();
      if (t == 0) device::load_shared<4>(kData);
    });
  };
  EXPECT_NE(after_a_wait(false), kOrdered);
  EXPECT_EQ(after_a_wait(true), kOrdered);
}

TEST(ExecutorRaces, BarriersTakeABarrierAfterTheyAreInitialised) {
  const auto waits = [](bool barrier) {
    return violation_in_any_order(64, 8, [=] {
      if (device::thread_index() == 0) device::barrier_init(kBarrier, 1), device::barrier_arrive(kBarrier);
      if (barrier) device::sync_block();
      device::barrier_wait(kBarrier, 0);
    });
  };
  EXPECT_EQ(waits(true), kOrdered);
  EXPECT_THAT(waits(false), AllOf(HasSubstr("barrier_wait at executor_races_test.cpp:"),
                                  HasSubstr("was initialised by thread 0 at executor_races_test.cpp:")));
}

// Of several readers the last one alone has not been seen: it read after it arrived.
TEST(ExecutorRaces, EveryReaderCounts) {
  const auto written_after = [](bool arrive_last) {
    return violation_in_any_order(64, 32, [=] {
      const int t = device::thread_index();
      if (t == 0) device::barrier_init(kBarrier, 1), device::store_shared<4>(kData, {});
      device::sync_block();
      if (t == 33) {
        if (!arrive_last) device::barrier_arrive(kBarrier);
        device::load_shared<4>(kData);
        if (arrive_last) device::barrier_arrive(kBarrier);
      }
      if (t == 3 || t == 4) device::load_shared<4>(kData);
      device::sync_warp();
      if (t != 5) return;
      device::barrier_wait(kBarrier, 0);
      device::store_shared<4>(kData, {});
    });
  };
  EXPECT_EQ(written_after(true), kOrdered);
  EXPECT_THAT(written_after(false), HasSubstr("are read by thread 33"));
}

// A GPU counts them in 20 bits and a sign.
TEST(ExecutorRaces, BytesOfAPhaseAreBounded) {
  const auto refused = [](u32 first, u32 second) {
    return violation_in_any_order(1, 8, [=] {
      device::barrier_init(0, 3);
      device::barrier_expect(0, first);
      device::barrier_expect(0, second);
    });
  };
  EXPECT_EQ(refused((1 << 20) - 2, 1), kOrdered);
  // Those of other phases do not count.
  alignas(16) static std::array<std::uint8_t, 128 * 1024> memory;
  Executor executor;
  executor.declare("memory", memory.data(), sizeof memory, false);
  EXPECT_EQ(violation([&] {
              executor.run({.threads = 1, .shared_bytes = 16 + sizeof memory}, [] {
                device::barrier_init(0, 1);
                device::fence_async();
                for (int phase = 0; phase < 9; ++phase) {
                  device::barrier_expect(0, sizeof memory);
                  device::bulk_load(16, memory.data(), sizeof memory, 0, Cache::normal);
                  device::barrier_wait(0, phase & 1);
                }
              });
            }),
            kOrdered);
  EXPECT_THAT(refused(1 << 22, 0),
              AllOf(HasSubstr("barrier_expect at executor_races_test.cpp:"),
                    HasSubstr("4194304 bytes in one phase of a barrier, must be at most 1048575")));
  EXPECT_THAT(refused(1 << 19, 1 << 19), AllOf(HasSubstr("1048576 bytes in one phase of a barrier, others at "
                                                         "executor_races_test.cpp:")));
}

TEST(ExecutorRaces, MoreArrivalsThanABarrierCountsAreRefused) {
  EXPECT_EQ(violation_in_any_order(1, 8,
                                   [] {
                                     device::barrier_init(0, 2);
                                     for (int phase = 0; phase < 2; ++phase) {
                                       device::barrier_arrive(0), device::barrier_arrive(0);
                                       device::barrier_wait(0, phase);
                                     }
                                   }),
            kOrdered);
  EXPECT_THAT(violation_in_any_order(1, 8,
                                     [] {
                                       device::barrier_init(0, 1);
                                       device::barrier_expect(0, 16);
                                       device::barrier_arrive(0);
                                     }),
              HasSubstr("more arrivals than the barrier at 0 counts"));
}

// ---- asynchronous copies

TEST(ExecutorRaces, CopiedBytesTakeAWaitAndABarrierForOtherLanes) {
  const std::vector<u32> u = iota(4);
  Executor executor;
  executor.declare("u", u.data(), 16, false);
  const auto read_by = [&](int lane, bool barrier) {
    return violation_in_any_order({.shared_bytes = 16}, executor, [&, lane, barrier] {
      if (device::lane_index() == 0) {
        device::copy_async(0, u.data(), 16);
        device::copy_async_commit();
        device::copy_async_wait<0>();
      }
      if (barrier) device::sync_warp();
      if (device::lane_index() == lane) device::load_shared<16>(0);
    });
  };
  EXPECT_EQ(read_by(0, false), kOrdered);
  EXPECT_EQ(read_by(1, true), kOrdered);
  EXPECT_THAT(read_by(1, false), HasSubstr("were written by thread 0"));
}

// A place is loaded again while others may still be reading it: before the barrier, or after.
TEST(ExecutorRaces, PlacesAreFreeOnlyAfterABarrier) {
  Rows rows;
  const TensorMap map = Rows::map(rows.in);
  const auto reloaded = [&](bool barrier) {
    return violation_in_any_order({.threads = 64, .shared_bytes = 4096}, rows.executor, [&, barrier] {
      load_box(map, {0, 0, 0, 0, 0});
      device::barrier_wait(0, 0);
      device::load_shared<16>(kSlab + 16 * device::thread_index());
      if (barrier) device::sync_block();
      if (device::thread_index() == 63) {
        device::barrier_expect(0, Rows::kBoxBytes);
        device::tensor_load(kSlab, map, {0, 1, 0, 0, 0}, 0, Cache::normal);
      }
      device::barrier_wait(0, 1);
    });
  };
  EXPECT_EQ(reloaded(true), kOrdered);
  EXPECT_THAT(reloaded(false),
              AllOf(HasSubstr("tensor_load at executor_races_test.cpp:"), HasSubstr("are read by thread")));
}

// Once a thread has waited, its barriers tell the others.
TEST(ExecutorRaces, LoadsThatOneThreadWaitedForAreThereAfterABarrier) {
  Rows rows;
  const TensorMap map = Rows::map(rows.in);
  const auto read = [&](bool barrier) {
    return violation_in_any_order({.threads = 64, .shared_bytes = 4096}, rows.executor, [&, barrier] {
      load_box(map, {0, 0, 0, 0, 0});
      if (device::thread_index() == 5) device::barrier_wait(0, 0);
      if (barrier) device::sync_block();
      if (device::thread_index() == (barrier ? 63 : 6)) device::load_shared<16>(kSlab);
    });
  };
  EXPECT_EQ(read(true), kOrdered);
  EXPECT_THAT(read(false), HasSubstr("were written by an asynchronous copy"));
}

TEST(ExecutorRaces, BarriersOfBulkCopiesTakeAFence) {
  Rows rows;
  const TensorMap map = Rows::map(rows.in);
  EXPECT_THAT(violation_in_any_order({.threads = 1, .shared_bytes = 4096}, rows.executor,
                                     [&] {
                                       device::barrier_init(0, 1);
                                       device::barrier_expect(0, Rows::kBoxBytes);
                                       device::tensor_load(kSlab, map, {0, 0, 0, 0, 0}, 0, Cache::normal);
                                       device::barrier_wait(0, 0);
                                     }),
              HasSubstr("was initialised by thread 0 at executor_races_test.cpp:"));
}

enum class Fence { none, before_the_barrier, after_the_barrier };

// All threads write where thread 0 then begins a bulk copy, or whence one goes.
template <Fence fence, bool loads>
void copies_in_bulk(u32* memory) {
  const int thread = device::thread_index();
  if (loads && thread == 0) {
    device::barrier_init(0, 1);
    device::fence_async();
  }
  device::store_shared<4>(16 + 4 * thread, {1});
  if (fence == Fence::before_the_barrier) device::fence_async();
  device::sync_block();
  if (fence == Fence::after_the_barrier) device::fence_async();
  if (loads) {
    if (thread == 0) {
      device::barrier_expect(0, 256);
      device::bulk_load(16, memory, 256, 0, Cache::normal);
    }
    device::barrier_wait(0, 0);
  } else if (thread == 0) {
    device::bulk_store(memory, 16, 256, Cache::normal);
    device::store_commit();
    device::store_wait<0>();
  }
}

// And before the barrier by which the thread that copies knows of it.
TEST(ExecutorRaces, BarriersOfBulkCopiesAreFencedBeforeTheBlocksBarrier) {
  alignas(16) std::array<u32, 4> memory{};
  const auto refused_load = [&](bool before) {
    Executor executor;
    executor.declare("memory", memory.data(), sizeof memory, false);
    return violation_in_any_order({.threads = 64, .shared_bytes = 32}, executor, [&] {
      const int t = device::thread_index();
      if (t == 32) device::barrier_init(0, 1);
      if (t == 32 && before) device::fence_async();
      device::sync_block();
      if (t == 32 && !before) device::fence_async();
      if (t != 0) return;
      device::barrier_expect(0, 16);
      device::bulk_load(16, memory.data(), 16, 0, Cache::normal);
      device::barrier_wait(0, 0);
    });
  };
  EXPECT_EQ(refused_load(true), kOrdered);
  EXPECT_THAT(refused_load(false), HasSubstr("the barrier at shared address 0 was initialised by thread 32 at "));
}

// The fence is the writers', before the barrier by which the copy's thread knows of it.
TEST(ExecutorRaces, BulkCopiesFromAndToWrittenPlacesTakeAFence) {
  alignas(16) std::array<u32, 64> memory{};
  const auto refused_copy = [&](auto kernel) {
    host::Executor executor;
    executor.declare("memory", memory.data(), sizeof memory, true);
    return violation_in_any_order({.threads = 64, .shared_bytes = 1024}, executor, [&] { kernel(memory.data()); });
  };
  const auto is_unfenced =
      AllOf(HasSubstr("were written by thread "), HasSubstr("which has not called fence_async since"));
  EXPECT_THAT(refused_copy(copies_in_bulk<Fence::none, true>), AllOf(HasSubstr("bulk_load at "), is_unfenced));
  EXPECT_THAT(refused_copy(copies_in_bulk<Fence::after_the_barrier, true>), is_unfenced);
  EXPECT_EQ(refused_copy(copies_in_bulk<Fence::before_the_barrier, true>), kOrdered);
  EXPECT_THAT(refused_copy(copies_in_bulk<Fence::none, false>), AllOf(HasSubstr("bulk_store at "), is_unfenced));
  EXPECT_THAT(refused_copy(copies_in_bulk<Fence::after_the_barrier, false>), is_unfenced);
  EXPECT_EQ(refused_copy(copies_in_bulk<Fence::before_the_barrier, false>), kOrdered);
}

// One thread writes, another copies: in half of the orders the fence has been called, and is not known to the copy's.
template <Fence fence>
void copies_what_another_wrote(u32* memory) {
  const int thread = device::thread_index();
  if (thread == 32) device::store_shared<16>(16, {1, 2, 3, 4});
  if (thread == 32 && fence == Fence::before_the_barrier) device::fence_async();
  device::sync_block();
  if (thread == 32 && fence == Fence::after_the_barrier) device::fence_async();
  if (thread != 0) return;
  device::bulk_store(memory, 16, 16, Cache::normal);
  device::store_commit();
  device::store_wait<0>();
}

TEST(ExecutorRaces, AFenceThatTheCopyDoesNotKnowOfIsNone) {
  alignas(16) std::array<u32, 4> memory{};
  const auto refused_copy = [&](auto kernel) {
    host::Executor executor;
    executor.declare("memory", memory.data(), sizeof memory, true);
    return violation_in_any_order({.threads = 64, .shared_bytes = 1024}, executor, [&] { kernel(memory.data()); });
  };
  EXPECT_THAT(refused_copy(copies_what_another_wrote<Fence::after_the_barrier>),
              HasSubstr("were written by thread 32"));
  EXPECT_EQ(refused_copy(copies_what_another_wrote<Fence::before_the_barrier>), kOrdered);
}

// ---- global memory

struct GlobalMemory {
  alignas(128) std::array<u32, 256> y{};
  std::string refused(const host::Launch& launch, const std::function<void(u32*)>& kernel) {
    Executor executor;
    executor.declare("y", y.data(), sizeof y, true);
    return violation_in_any_order(launch, executor, [&] { kernel(y.data()); });
  }
};

TEST(ExecutorRaces, WhatABlockWritesIsNoOtherBlocks) {
  GlobalMemory memory;
  const auto refused = [&](const std::function<void(u32*)>& kernel) {
    return memory.refused({.blocks = 4, .threads = 1}, kernel);
  };
  const auto own = [](u32* y) { return y + device::block_index(); };
  EXPECT_EQ(refused([&](u32* y) { device::store_global<4>(own(y), device::load_global<4>(own(y))); }), kOrdered);
  EXPECT_EQ(refused([&](u32* y) { device::load_global<4>(y); }), kOrdered) << "all of them read";
  EXPECT_THAT(refused([](u32* y) { device::store_global<4>(y, {u32(device::block_index())}); }),
              AllOf(HasSubstr("store_global at executor_races_test.cpp:"),
                    HasSubstr(" of block 1: y bytes 0 to 2 were "
                              "written by block 0 at "
                              "executor_races_test.cpp:"),
                    HasSubstr("and nothing orders blocks of a launch")));
  EXPECT_THAT(refused([&](u32* y) {
                if (device::block_index() > 0) device::load_global<4>(own(y) - 1);
                device::store_global<4>(own(y), {1});
              }),
              AllOf(HasSubstr("load_global at "), HasSubstr("y bytes 0 to 2 were written by block 0")));
  EXPECT_THAT(refused([&](u32* y) {
                device::load_global<4>(y + 3);
                if (device::block_index() == 3) device::store_global<4>(own(y), {1});
              }),
              AllOf(HasSubstr("store_global at "), HasSubstr("y bytes 12 to 14 were read by block 0")));
}

// As plans run them: of clusters, and in a later run of the same launch.
TEST(ExecutorRaces, BlocksOfALaunchThatContinuesAreNotOrdered) {
  GlobalMemory memory;
  Executor executor;
  executor.declare("y", memory.y.data(), sizeof memory.y, true);
  const auto write = [&](int first, bool continues) {
    return violation([&] {
      executor.run(
          {.blocks = 2, .threads = 1, .cluster = 2, .first_block = first, .grid_blocks = 8, .continues = continues},
          [&] {
            EXPECT_EQ(device::block_count(), 8);
            device::sync_cluster();
            if (device::cluster_rank() == 1) device::store_global<4>(memory.y.data(), {1});
            device::sync_cluster();
            if (device::cluster_rank() == 0) device::load_global<4>(memory.y.data());
          });
    });
  };
  EXPECT_EQ(write(0, false), kOrdered);
  EXPECT_EQ(write(4, false), kOrdered) << "another launch";
  EXPECT_THAT(write(6, true), AllOf(HasSubstr("by thread 0 of block 7: "), HasSubstr("were written by block 5")));
}

TEST(ExecutorRaces, ThreadsOfABlockTakeABarrierForGlobalMemory) {
  GlobalMemory memory;
  const auto refused = [&](bool barrier) {
    return memory.refused({.threads = 64}, [=](u32* y) {
      const int t = device::thread_index();
      if (t == 0) device::store_global<4>(y, {1});
      if (barrier) device::sync_block();
      if (t == 40) device::load_global<4>(y);
    });
  };
  EXPECT_EQ(refused(true), kOrdered);
  EXPECT_THAT(refused(false),
              testing::AnyOf(HasSubstr("y bytes 0 to 2 were written by thread 0 at executor_races_test.cpp:"),
                             HasSubstr("y bytes 0 to 2 are read by thread 40 at executor_races_test.cpp:")));
}

// Thread 0 copies what thread 33 wrote, or over it.
enum class Global { unfenced, fenced_after_the_barrier, fenced };

template <Global global, bool loads>
void copies_global_memory(u32* y) {
  const int t = device::thread_index();
  if (t == 33) device::store_global<16>(y, {5, 5, 5, 5});
  if (t == 33 && global == Global::fenced) device::fence_async_global();
  if (t == 0) device::barrier_init(0, 1), device::store_shared<16>(16, {}), device::fence_async();
  device::sync_block();
  if (t == 33 && global == Global::fenced_after_the_barrier) device::fence_async_global();
  if (t != 0) return;
  if (loads) {
    device::barrier_expect(0, 16);
    device::bulk_load(16, y, 16, 0, Cache::normal);
    device::barrier_wait(0, 0);
  } else {
    device::bulk_store(y, 16, 16, Cache::normal);
    device::store_commit();
    device::store_wait_read<0>();
  }
}

TEST(ExecutorRaces, BulkCopiesOfWrittenGlobalMemoryTakeAFence) {
  GlobalMemory memory;
  const auto refused = [&](void (*kernel)(u32*)) {
    return memory.refused({.threads = 64, .shared_bytes = 1024}, kernel);
  };
  const auto is_unfenced = AllOf(HasSubstr("y bytes 0 to 16 were written by thread 33 at executor_races_test.cpp:"),
                                 HasSubstr("which has not called fence_async_global since"));
  EXPECT_EQ(refused(copies_global_memory<Global::fenced, true>), kOrdered);
  EXPECT_EQ(refused(copies_global_memory<Global::fenced, false>), kOrdered);
  EXPECT_THAT(refused(copies_global_memory<Global::unfenced, true>), AllOf(HasSubstr("bulk_load at "), is_unfenced));
  EXPECT_THAT(refused(copies_global_memory<Global::unfenced, false>), AllOf(HasSubstr("bulk_store at "), is_unfenced));
  EXPECT_THAT(refused(copies_global_memory<Global::fenced_after_the_barrier, true>), is_unfenced);
  EXPECT_THAT(refused(copies_global_memory<Global::fenced_after_the_barrier, false>), is_unfenced);
}

// Thread 0 stores in bulk, and loads it again by itself or by another bulk copy.
enum class Wait { read, written, written_later };

template <Wait wait, bool in_bulk>
void reads_what_it_stored(u32* y) {
  device::barrier_init(0, 1);
  device::store_shared<16>(16, {9, 9, 9, 9});
  device::fence_async();
  device::bulk_store(y, 16, 16, Cache::normal);
  device::store_commit();
  wait == Wait::written ? device::store_wait<0>() : device::store_wait_read<0>();
  if (wait == Wait::written_later) device::store_wait<0>();
  if (in_bulk) {
    device::barrier_expect(0, 16);
    device::bulk_load(16, y, 16, 0, Cache::normal);
    device::barrier_wait(0, 0);
  } else {
    EXPECT_EQ(device::load_global<4>(y)[0], 9u);
  }
}

TEST(ExecutorRaces, BulkStoresAreThereOnceTheirWritesWereWaitedFor) {
  GlobalMemory memory;
  const auto refused = [&](void (*kernel)(u32*)) {
    return memory.refused({.threads = 1, .shared_bytes = 1024}, kernel);
  };
  EXPECT_EQ(refused(reads_what_it_stored<Wait::written, false>), kOrdered);
  EXPECT_EQ(refused(reads_what_it_stored<Wait::written, true>), kOrdered);
  EXPECT_EQ(refused(reads_what_it_stored<Wait::written_later, true>), kOrdered);
  const auto in_flight =
      AllOf(HasSubstr("y bytes 0 to 2 were written by a copy of thread 0 at executor_races_test.cpp:"),
            HasSubstr("which was not waited for since"));
  EXPECT_THAT(refused(reads_what_it_stored<Wait::read, false>), AllOf(HasSubstr("load_global at "), in_flight));
  EXPECT_THAT(refused(reads_what_it_stored<Wait::read, true>), AllOf(HasSubstr("bulk_load at "), in_flight));
}

}  // namespace
}  // namespace danaus
