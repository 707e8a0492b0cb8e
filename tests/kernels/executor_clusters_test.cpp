// Clusters of blocks and blocks that run at the same time: what they do for each other, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/device/relaxed_arrival.hpp"
#include "tests/kernels/executor_support.hpp"

namespace danaus {
namespace {

using host::Counters;
using host::Executor;
using host::Launch;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

constexpr const char* kOrdered = "no violation";
constexpr SharedAddress kBarrier = 0, kFree = 8, kData = 16;

std::string refused(const Launch& launch, const std::function<void()>& kernel) {
  Executor executor;
  return violation_in_any_order(launch, executor, kernel);
}

Launch cluster_of(int blocks, int threads = 32) {
  return {.blocks = blocks, .threads = threads, .shared_bytes = 1024, .cluster = blocks};
}

int next_rank() { return (device::cluster_rank() + 1) % device::cluster_size(); }

// ---- shared memory of other blocks

TEST(ExecutorClusters, RanksAndSizesAreThoseOfTheLaunch) {
  std::vector<int> rank(12, -1), size(12);
  Executor().run({.blocks = 12, .threads = 1, .cluster = 4}, [&] {
    rank[device::block_index()] = device::cluster_rank();
    size[device::block_index()] = device::cluster_size();
  });
  EXPECT_EQ(rank, (std::vector<int>{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}));
  EXPECT_EQ(size, std::vector<int>(12, 4));
  EXPECT_THROW(Executor().run({.blocks = 12, .cluster = 5}, [] {}), std::invalid_argument);
  EXPECT_THROW(Executor().run({.blocks = 17, .cluster = 17}, [] {}), std::invalid_argument);
}

// Each thread of block r stores r and its number to the next block, in pieces of `bytes`.
template <int bytes>
void push(bool barrier_before, bool barrier_after) {
  const int t = device::thread_index(), rank = device::cluster_rank();
  if (barrier_before) device::sync_cluster();
  Words<bytes / 4> words{};
  words[bytes / 4 - 1] = u32(100 * rank + t);
  device::store_remote<bytes>(device::remote_address(kData, next_rank()) + u32(bytes * t), words);
  if (barrier_after) device::sync_cluster();
  const int from = (rank + device::cluster_size() - 1) % device::cluster_size();
  const auto words_here = device::load_shared<bytes>(kData + bytes * (31 - t));
  EXPECT_EQ(words_here[bytes / 4 - 1], u32(100 * from + 31 - t));
}

TEST(ExecutorClusters, BlocksStoreToEachOther) {
  for (int blocks : {1, 2, 16}) {
    EXPECT_EQ(refused(cluster_of(blocks), [] { push<4>(true, true); }), kOrdered);
    EXPECT_EQ(refused(cluster_of(blocks), [] { push<8>(true, true); }), kOrdered);
    EXPECT_EQ(refused(cluster_of(blocks), [] { push<16>(true, true); }), kOrdered);
  }
  EXPECT_THAT(refused(cluster_of(2), [] { push<4>(false, true); }),
              HasSubstr("block 1 may not have begun: a barrier of the cluster comes first"));
}

template <bool before, bool after>
void pull() {
  const int t = device::thread_index();
  device::store_shared<4>(kData + 4 * t, {u32(100 * device::cluster_rank() + t)});
  if (before) device::sync_cluster();
  const RemoteAddress from = device::remote_address(kData, next_rank()) + u32(4 * (31 - t));
  EXPECT_EQ(device::load_remote<4>(from)[0], u32(100 * next_rank() + 31 - t));
  if (after) device::sync_cluster();
}

TEST(ExecutorClusters, BlocksLoadFromEachOtherAndStayUntilAllHave) {
  EXPECT_EQ(refused(cluster_of(3), [] { pull<true, true>(); }), kOrdered);
  EXPECT_NE(refused(cluster_of(3), [] { pull<false, true>(); }), kOrdered);
  EXPECT_NE(refused(cluster_of(3), [] { pull<true, false>(); }), kOrdered);
  EXPECT_THAT(refused(cluster_of(2),
                      [] {
                        device::store_shared<4>(kData + 4 * device::thread_index(), {});
                        device::sync_cluster();
                        if (device::cluster_rank() == 1) return;
                        device::sync_block();
                        device::load_remote<4>(device::remote_address(kData, 1));
                      }),
              HasSubstr("by thread 0 of block 0: block 1 has ended"));
  EXPECT_THAT(refused(cluster_of(2),
                      [] {
                        device::store_shared<4>(kData + 4 * device::thread_index(), {});
                        device::sync_cluster();
                        if (device::cluster_rank() == 0)
                          device::load_remote<4>(device::remote_address(kData, 1) + u32(4 * device::thread_index()));
                      }),
              HasSubstr("ended while thread 0 of block 0 may still be using its shared memory at "));
}

TEST(ExecutorClusters, AccessesOfTwoBlocksTakeABarrierOfTheCluster) {
  const auto both_write = [](bool of_block) {
    return refused(cluster_of(2), [=] {
      device::sync_cluster();
      if (device::cluster_rank() == 0 && device::thread_index() == 3)
        device::store_remote<4>(device::remote_address(kData, 1), {1});
      of_block ? device::sync_block() : device::sync_cluster();
      if (device::cluster_rank() == 1 && device::thread_index() == 0) device::store_shared<4>(kData, {2});
      device::sync_cluster();
    });
  };
  EXPECT_EQ(both_write(false), kOrdered);
  EXPECT_THAT(both_write(true), HasSubstr("were written by thread"));
  EXPECT_THAT(both_write(true), HasSubstr(" of block "));
}

TEST(ExecutorClusters, RemoteAccessesHaveTheBoundsOfTheirBlock) {
  const auto store_at = [](SharedAddress address, int rank) {
    return refused(cluster_of(2, 1), [=] {
      device::sync_cluster();
      if (device::cluster_rank() == 0) device::store_remote<16>(device::remote_address(address, rank), {});
      device::sync_cluster();
    });
  };
  EXPECT_EQ(store_at(1008, 1), kOrdered);
  EXPECT_THAT(store_at(1024, 1), HasSubstr("shared bytes 1024 to 1040 are outside the block's 1024"));
  EXPECT_THAT(store_at(8, 1), HasSubstr("shared address 8 is not aligned to its 16 bytes"));
  EXPECT_THAT(store_at(0, 2), HasSubstr("rank 2 of a cluster of 2 blocks"));
  EXPECT_THAT(refused(cluster_of(2, 1),
                      [] {
                        device::sync_cluster();
                        device::load_remote<4>(device::remote_address(0, next_rank()));
                      }),
              HasSubstr("are read before anything wrote them"));
}

TEST(ExecutorClusters, ArrivalsAndWaitsAlternate) {
  EXPECT_EQ(refused(cluster_of(2),
                    [] {
                      for (int round = 0; round < 3; ++round) {
                        device::store_shared<4>(kData + 4 * device::thread_index(), {u32(round)});
                        device::arrive_cluster();
                        device::store_shared<4>(256 + 4 * device::thread_index(), {});  // its own, meanwhile
                        device::wait_cluster();
                        EXPECT_EQ(device::load_remote<4>(device::remote_address(kData, next_rank()))[0], u32(round));
                        device::sync_cluster();
                      }
                    }),
            kOrdered);
  // What comes after the arrival is not handed over.
  EXPECT_NE(refused(cluster_of(2, 1),
                    [] {
                      device::arrive_cluster();
                      device::store_shared<4>(kData, {});
                      device::wait_cluster();
                      device::load_remote<4>(device::remote_address(kData, next_rank()));
                      device::sync_cluster();
                    }),
            kOrdered);
  EXPECT_THAT(refused(cluster_of(2), [] { device::arrive_cluster(), device::arrive_cluster(); }),
              HasSubstr("a second time, without wait_cluster in between"));
  EXPECT_THAT(refused(cluster_of(2), [] { device::wait_cluster(); }), HasSubstr("without arrive_cluster before"));
}

TEST(ExecutorClusters, ABarrierThatABlockDoesNotReachIsReported) {
  const std::string report = refused(cluster_of(2), [] {
    if (device::cluster_rank() == 0) device::sync_cluster();
    if (device::cluster_rank() == 1) device::barrier_init(8 * device::thread_index(), 1);
    if (device::cluster_rank() == 1) device::barrier_wait(8 * device::thread_index(), 0);
  });
  EXPECT_THAT(report, AllOf(HasSubstr("no thread can go on: block 0; 32 threads stand at wait_cluster at executor_cl"),
                            HasSubstr("block 1; 32 threads stand at barrier_wait")));
}

// ---- barriers of other blocks

void init_barriers(u32 arrivals) {
  if (device::thread_index() == 0) {
    device::barrier_init(kBarrier, arrivals), device::barrier_init(kFree, arrivals);
    device::fence_async();
  }
  device::sync_cluster();
}

// Block 0 sends 32 words to block 1, which has them once its barrier says so.
enum class Send { stores, remote_copy };

template <Send send, bool wait>
void send_asynchronously() {
  const int t = device::thread_index();
  init_barriers(1);
  if (device::cluster_rank() == 0) {
    const RemoteAddress barrier = device::remote_address(kBarrier, 1);
    if (send == Send::stores) {
      device::store_remote_async<4>(device::remote_address(kData, 1) + u32(4 * t), {u32(t)}, barrier);
    } else {
      device::store_shared<4>(512 + 4 * t, {u32(t)});
      device::fence_async();
      device::sync_warp();
      if (t == 0) device::copy_remote(device::remote_address(kData, 1), 512, 128, barrier);
    }
  } else {
    if (t == 0) device::barrier_expect(kBarrier, 128);
    if (wait) device::barrier_wait(kBarrier, 0);
    EXPECT_EQ(device::load_shared<4>(kData + 4 * (31 - t))[0], u32(31 - t));
  }
  device::sync_cluster();
}

TEST(ExecutorClusters, AsynchronousStoresAndCopiesCompleteOnTheOtherBlocksBarrier) {
  EXPECT_EQ(refused(cluster_of(2), [] { send_asynchronously<Send::stores, true>(); }), kOrdered);
  EXPECT_EQ(refused(cluster_of(2), [] { send_asynchronously<Send::remote_copy, true>(); }), kOrdered);
  EXPECT_THAT(refused(cluster_of(2), [] { send_asynchronously<Send::stores, false>(); }),
              AnyOf(HasSubstr("before anything wrote"), HasSubstr("an asynchronous copy")));
  EXPECT_THAT(refused(cluster_of(2), [] { send_asynchronously<Send::remote_copy, false>(); }),
              AnyOf(HasSubstr("before anything wrote"), HasSubstr("an asynchronous copy")));
}

// The source of a copy is in use until the barrier at its destination says otherwise, and its reader that it has it.
template <bool acknowledged>
void reuse_source() {
  init_barriers(1);
  if (device::cluster_rank() == 0) {
    device::store_shared<16>(512, {});
    device::fence_async();
    device::copy_remote(device::remote_address(kData, 1), 512, 16, device::remote_address(kBarrier, 1));
    if (acknowledged) device::barrier_wait_cluster(kFree, 0);
    device::store_shared<16>(512, {1, 1, 1, 1});
  } else {
    device::barrier_expect(kBarrier, 16);
    device::barrier_wait(kBarrier, 0);
    device::barrier_arrive_remote(device::remote_address(kFree, 0));
  }
  device::sync_cluster();
}

TEST(ExecutorClusters, SourcesOfRemoteCopiesAreInUseUntilTheyHaveLanded) {
  EXPECT_EQ(refused(cluster_of(2, 1), [] { reuse_source<true>(); }), kOrdered);
  EXPECT_THAT(refused(cluster_of(2, 1), [] { reuse_source<false>(); }),
              HasSubstr("are read by an asynchronous copy at executor_clusters_test.cpp:"));
}

// The consumer tells the producer, by an arrival at its barrier, that a place is free.
template <bool of_cluster, bool arrive_last>
void consume_then_release() {
  init_barriers(1);
  if (device::cluster_rank() == 0) {
    device::store_remote<4>(device::remote_address(kData, 1), {1});
    device::barrier_arrive_remote(device::remote_address(kBarrier, 1));
    of_cluster ? device::barrier_wait_cluster(kFree, 0) : device::barrier_wait(kFree, 0);
    device::store_remote<4>(device::remote_address(kData, 1), {2});
  } else {
    device::barrier_wait_cluster(kBarrier, 0);
    if (!arrive_last) device::barrier_arrive_remote(device::remote_address(kFree, 0));
    EXPECT_EQ(device::load_shared<4>(kData)[0], 1u);
    if (arrive_last) device::barrier_arrive_remote(device::remote_address(kFree, 0));
  }
  device::sync_cluster();
}

TEST(ExecutorClusters, RemoteArrivalsReleaseAndWaitsOfTheClustersScopeAcquire) {
  EXPECT_EQ(refused(cluster_of(2, 1), [] { consume_then_release<true, true>(); }), kOrdered);
  EXPECT_THAT(refused(cluster_of(2, 1), [] { consume_then_release<false, true>(); }),
              HasSubstr("are read by thread 0 of block 1"));
}

// What is only said to have been read may be written over, and nothing that was written before is known by it.
template <bool writes>
void arrives_relaxed() {
  const int other = next_rank();
  device::store_shared<4>(kData, {});
  device::sync_cluster();
  writes ? device::store_remote<4>(device::remote_address(kData, other), {1})
         : void(device::load_remote<4>(device::remote_address(kData, other)));
  device::arrive_cluster_relaxed();
  device::wait_cluster();
  device::store_shared<4>(kData, {2});
  device::sync_cluster();
}

TEST(ExecutorClusters, RelaxedArrivalsReleaseReadsAlone) {
  EXPECT_EQ(refused(cluster_of(2, 1), arrives_relaxed<false>), kOrdered);
  EXPECT_THAT(
      refused(cluster_of(2, 1), arrives_relaxed<true>),
      AllOf(HasSubstr("store_shared at executor_clusters_test.cpp:"), HasSubstr("were written by thread 0 of block "),
            HasSubstr(" at executor_clusters_test.cpp:"), HasSubstr("with no barrier since")));
  // And so it is for those who know of it from another.
  EXPECT_THAT(refused(cluster_of(3, 1),
                      [] {
                        device::store_shared<4>(kData, {});
                        device::sync_cluster();
                        const int rank = device::cluster_rank();
                        if (rank == 0) device::store_remote<4>(device::remote_address(kData, 2), {1});
                        rank == 0 ? device::arrive_cluster_relaxed() : device::arrive_cluster();
                        device::wait_cluster();
                        device::sync_cluster();
                        if (rank == 2) device::load_shared<4>(kData);
                      }),
              kOrdered)
      << "a release that comes later covers it";
}

template <bool writes, bool released, bool acquired = released>
void releases_what_it_read() {
  init_barriers(1);
  const int other = next_rank();
  device::store_shared<4>(kData, {});
  device::sync_cluster();
  const RemoteAddress data = device::remote_address(kData, other), free = device::remote_address(kFree, other);
  writes ? device::store_remote<4>(data, {1}) : void(device::load_remote<4>(data));
  released ? device::barrier_arrive_remote(free) : device::barrier_release_remote(free, 0);
  acquired ? device::barrier_wait_cluster(kFree, 0) : device::barrier_wait_released(kFree, 0);
  device::store_shared<4>(kData, {2});
  device::sync_cluster();
}

TEST(ExecutorClusters, BarriersReleaseRemoteReadsAlone) {
  EXPECT_EQ(refused(cluster_of(2, 1), releases_what_it_read<false, false>), kOrdered);
  EXPECT_EQ(refused(cluster_of(2, 1), releases_what_it_read<true, true>), kOrdered);
  for (const auto kernel : {releases_what_it_read<true, false, true>, releases_what_it_read<true, true, false>})
    EXPECT_THAT(refused(cluster_of(2, 1), kernel), HasSubstr("were written by thread 0 of block ")) << "only one side";
  EXPECT_THAT(
      refused(cluster_of(2, 1), releases_what_it_read<true, false>),
      AllOf(HasSubstr("store_shared at executor_clusters_test.cpp:"), HasSubstr("were written by thread 0 of block ")));
}

// What other lanes of the warp have read is released by the one that arrives, if a barrier of the warp came before.
TEST(ExecutorClusters, ALaneReleasesWhatItsWarpHasRead) {
  const auto refused_without = [](bool barrier) {
    return refused(cluster_of(2), [=] {
      init_barriers(1);
      const int t = device::thread_index(), other = next_rank();
      device::store_shared<4>(kData + 4 * t, {});
      device::sync_cluster();
      device::load_remote<4>(device::remote_address(kData + 4 * t, other));
      if (barrier) device::sync_warp();
      if (t == 7) device::barrier_release_remote(device::remote_address(kFree, other), 0);
      device::barrier_wait_released(kFree, 0);
      device::store_shared<4>(kData + 4 * t, {});
      device::sync_cluster();
    });
  };
  EXPECT_EQ(refused_without(true), kOrdered);
  EXPECT_THAT(refused_without(false), HasSubstr("are read by thread "));
}

// What has come by a copy and was read may be overwritten by the next copy, and not be read by who knows only that.
template <bool reads>
void sends_again() {
  init_barriers(1);
  if (device::cluster_rank() == 0) {
    const RemoteAddress data = device::remote_address(kData, 1), barrier = device::remote_address(kBarrier, 1);
    device::store_remote_async<4>(data, {1}, barrier);
    device::barrier_wait_released(kFree, 0);
    reads ? void(device::load_remote<4>(data)) : device::store_remote_async<4>(data, {2}, barrier);
  } else {
    device::barrier_expect(kBarrier, 4);
    device::barrier_wait(kBarrier, 0);
    device::load_shared<4>(kData);
    device::barrier_release_remote(device::remote_address(kFree, 0), 0);
    if (!reads) device::barrier_expect(kBarrier, 4), device::barrier_wait(kBarrier, 1);
  }
  device::sync_cluster();
}

TEST(ExecutorClusters, PlacesOfCopiesThatWereReadTakeTheNextCopy) {
  EXPECT_EQ(refused(cluster_of(2, 1), sends_again<false>), kOrdered);
  EXPECT_THAT(refused(cluster_of(2, 1), sends_again<true>), HasSubstr("were written by an asynchronous copy at "));
}

// A block's own writes to its memory are there once it has read them, and may be overwritten. To be read elsewhere they
// take a release of their own.
template <bool reads>
void overwrites_elsewhere() {
  init_barriers(1);
  if (device::cluster_rank() == 0) {
    device::store_shared<4>(kData, {1});
    device::load_shared<4>(kData);
    device::barrier_release_remote(device::remote_address(kFree, 1), 0);
  } else {
    device::barrier_wait_released(kFree, 0);
    const RemoteAddress data = device::remote_address(kData, 0);
    reads ? void(device::load_remote<4>(data)) : device::store_remote<4>(data, {2});
  }
  device::sync_cluster();
}

TEST(ExecutorClusters, WhatABlockWroteAndReadMayBeOverwritten) {
  EXPECT_EQ(refused(cluster_of(2, 1), overwrites_elsewhere<false>), kOrdered);
  EXPECT_THAT(refused(cluster_of(2, 1), overwrites_elsewhere<true>), HasSubstr("were written by thread 0 of block 0"));
}

enum class Init { fenced, released, neither };

template <Init init>
void arrives_at_a_barrier_of_another_block() {
  if (device::lane_index() == 0) device::barrier_init(kBarrier, 1);
  if (init == Init::fenced) device::fence_barrier_init();
  init == Init::released ? device::arrive_cluster() : device::arrive_cluster_relaxed();
  device::wait_cluster();
  if (device::lane_index() == 0) device::barrier_arrive_remote(device::remote_address(kBarrier, next_rank()));
  device::sync_warp();
  device::barrier_wait_cluster(kBarrier, 0);
  device::sync_cluster();
}

TEST(ExecutorClusters, BarriersOfOtherBlocksTakeAFenceOrARelease) {
  EXPECT_EQ(refused(cluster_of(2), arrives_at_a_barrier_of_another_block<Init::fenced>), kOrdered);
  EXPECT_EQ(refused(cluster_of(2), arrives_at_a_barrier_of_another_block<Init::released>), kOrdered);
  EXPECT_THAT(refused(cluster_of(2), arrives_at_a_barrier_of_another_block<Init::neither>),
              AllOf(HasSubstr("barrier_arrive_remote at executor_clusters_test.cpp:"),
                    HasSubstr("the barrier at shared address 0 was initialised by thread 0 of block "),
                    HasSubstr(" at executor_clusters_test.cpp:")));
}

TEST(ExecutorClusters, RemoteCopiesAreCheckedWhereTheyBegin) {
  const auto send = [](SharedAddress to, SharedAddress from, u32 bytes, int barrier_rank) {
    return refused(cluster_of(2, 1), [=] {
      device::store_shared<16>(512, {});
      device::fence_async();
      init_barriers(1);
      device::copy_remote(device::remote_address(to, 1), from, bytes, device::remote_address(kBarrier, barrier_rank));
    });
  };
  EXPECT_THAT(send(kData, 512, 16, 0), HasSubstr("to rank 1 with a barrier of rank 0, must be of the same block"));
  EXPECT_THAT(send(kData, 512, 8, 1), HasSubstr("all must be multiples of 16"));
  EXPECT_THAT(send(kData, 528, 16, 1), HasSubstr("are read before anything wrote them"));
  EXPECT_THAT(send(1024, 512, 16, 1), HasSubstr("outside the block's 1024"));
}

TEST(ExecutorClusters, RemoteBytesAreCounted) {
  const auto count = [](void (*kernel)()) { return Executor().run(cluster_of(2), kernel); };
  const Counters pushed = count([] { push<8>(true, true); });
  EXPECT_EQ(pushed.remote_store_bytes, 2u * 32 * 8);
  EXPECT_EQ(pushed.remote_load_bytes, 0u);
  EXPECT_EQ(pushed.cluster_barriers, 2u);
  EXPECT_EQ(count([] { pull<true, true>(); }).remote_load_bytes, 2u * 32 * 4);
  EXPECT_EQ(count([] { send_asynchronously<Send::stores, true>(); }).remote_store_bytes, 128u);
  EXPECT_EQ(count([] { send_asynchronously<Send::remote_copy, true>(); }).remote_store_bytes, 128u);
  EXPECT_EQ(Executor().run(cluster_of(1), [] { push<8>(true, true); }).remote_store_bytes, 0u);
}

// ---- flags

struct FlagsAndData {
  std::vector<u32> flags = std::vector<u32>(8), data = std::vector<u32>(64);
  Executor executor;
  FlagsAndData() {
    executor.declare("flags", flags.data(), 32, true);
    executor.declare("data", data.data(), 256, true);
  }
};

// Block 1 writes for block 0, which is the first to run.
template <bool release, bool constant>
void hand_over(u32* flag, u32* data) {
  const int t = device::thread_index();
  if (device::block_index() == 1) {
    device::store_global<4>(data + t, {u32(t)});
    device::sync_block();
    if (t == 0) release ? device::add_release(flag, 1) : device::store_global<4>(flag, {1});
  } else {
    if (t == 0) device::wait_until_at_least(flag, 1);
    device::sync_block();
    const u32 value = constant ? device::load_constant<4>(data + 31 - t)[0] : device::load_global<4>(data + 31 - t)[0];
    EXPECT_EQ(value, u32(31 - t));
  }
}

TEST(ExecutorFlags, ResidentBlocksWaitForEachOther) {
  FlagsAndData m;
  u32 *flag = m.flags.data(), *data = m.data.data();
  const auto refused = [&](const Launch& launch, void (*kernel)(u32*, u32*)) {
    *flag = 0;
    return violation([&] { m.executor.run(launch, [&] { kernel(flag, data); }); });
  };
  const Launch resident{.blocks = 2, .resident = true};
  EXPECT_EQ(refused(resident, hand_over<true, false>), kOrdered);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed)
    EXPECT_EQ(
        refused({.blocks = 2, .order = host::Order::random, .seed = seed, .resident = true}, hand_over<true, false>),
        kOrdered);
  EXPECT_THAT(
      refused({.blocks = 2}, hand_over<true, false>),
      AllOf(HasSubstr("no thread can go on: block 0; "), HasSubstr("1 threads stand at wait_until_at_least at ")));
  EXPECT_THAT(
      refused(resident, hand_over<false, false>),
      AllOf(HasSubstr("load_global at "), HasSubstr("data bytes 124 to 126 were written by thread 31 of block 1")));
  EXPECT_THAT(refused(resident, hand_over<true, true>),
              HasSubstr("data may be written by a kernel: load_global reads it"));
}

TEST(ExecutorFlags, EveryReleaseBeforeIsAcquiredByAdditionsAndTheLastByStores) {
  FlagsAndData m;
  u32 *flag = m.flags.data(), *data = m.data.data();
  const auto gather = [&](bool add) {
    *flag = 0;
    return violation([&] {
      m.executor.run({.blocks = 4, .threads = 1, .resident = true}, [=] {
        const int b = device::block_index();
        if (b > 0) {
          if (!add) device::wait_until_at_least(flag + 1, 0);
          device::store_global<4>(data + b, {u32(b)});
          add ? device::add_release(flag, 1) : device::store_release(flag, 3);
          return;
        }
        device::wait_until_at_least(flag, 3);
        EXPECT_GE(device::load_acquire(flag), 3u);
        for (int other = 1; other < 4; ++other) EXPECT_EQ(device::load_global<4>(data + other)[0], u32(other));
      });
    });
  };
  EXPECT_EQ(gather(true), kOrdered);
  EXPECT_THAT(gather(false), HasSubstr("were written by thread 0 of block"));
}

// A bulk store that has been read is not yet written.
template <bool written>
void hand_over_by_copy(u32* flag, u32* data) {
  const int t = device::thread_index();
  if (device::block_index() == 1) {
    device::store_shared<4>(4 * t, {u32(t)});
    device::fence_async();
    device::sync_warp();
    if (t > 0) return;
    device::bulk_store(data, 0, 128, Cache::normal);
    device::store_commit();
    written ? device::store_wait<0>() : device::store_wait_read<0>();
    device::store_release(flag, 1);
  } else {
    if (t == 0) {
      device::barrier_init(256, 1);
      device::fence_async();
      device::wait_until_at_least(flag, 1);
      device::barrier_expect(256, 128);
      device::bulk_load(0, data, 128, 256, Cache::normal);
    }
    device::sync_warp();
    device::barrier_wait(256, 0);
    EXPECT_EQ(device::load_shared<4>(4 * (31 - t))[0], u32(31 - t));
  }
}

TEST(ExecutorFlags, BulkStoresAreWaitedForBeforeTheyAreAnnounced) {
  FlagsAndData m;
  std::vector<u32> data(36);
  u32* aligned = data.data();
  while (reinterpret_cast<std::uintptr_t>(aligned) % 16 != 0) ++aligned;
  m.executor.declare("aligned", aligned, 128, true);
  u32* flag = m.flags.data();
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Launch launch{.blocks = 2, .shared_bytes = 512, .order = host::Order::random, .seed = seed, .resident = true};
    *flag = 0;
    EXPECT_EQ(violation([&] { m.executor.run(launch, [&] { hand_over_by_copy<true>(flag, aligned); }); }), kOrdered);
    *flag = 0;
    EXPECT_NE(violation([&] { m.executor.run(launch, [&] { hand_over_by_copy<false>(flag, aligned); }); }), kOrdered);
  }
}

TEST(ExecutorFlags, ManyResidentBlocksAreRefused) {
  EXPECT_THROW(Executor().run({.blocks = 33, .threads = 1024, .resident = true}, [] {}), std::invalid_argument);
}

}  // namespace
}  // namespace danaus
