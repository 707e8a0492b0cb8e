// The executor catches what a GPU lets pass, and counts what a GPU would do.
#include "kernels/executor/executor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/kernels/executor_support.hpp"

namespace danaus {
namespace {

using host::Counters;
using host::ExecutionError;
using host::Executor;
using host::make_tensor_map;
using host::Order;
using host::TensorView;
using testing::HasSubstr;
using testing::StartsWith;

// ---- what is refused

TEST(ExecutorChecks, GlobalAccessOutsideItsBufferIsCaught) {
  std::vector<u32> u(64), y(64);
  Executor executor;
  executor.declare("u", u.data(), 63 * sizeof(u32), false);
  executor.declare("y", y.data(), y.size() * sizeof(u32), true);
  const auto load = [&](const u32* from) {
    return violation([&] { executor.run({}, [&] { device::load_global<4>(from + device::lane_index()); }); });
  };
  EXPECT_EQ(load(u.data()), "no violation");
  EXPECT_THAT(load(u.data() + 32), HasSubstr("outside every declared buffer, 0 bytes past the end of u"));
  EXPECT_THAT(load(u.data() + 32), HasSubstr("load_global at executor_test.cpp:"));
  EXPECT_THAT(load(u.data() + 32), HasSubstr("by thread 31 of block 0"));
  EXPECT_THAT(violation([&] { executor.run({}, [&] { device::load_global<16>(u.data() + 60); }); }),
              HasSubstr("16 bytes at offset 240 run past the end of u (252 bytes)"));
  EXPECT_THAT(violation([&] { executor.run({}, [&] { device::store_global<4>(u.data(), {0}); }); }),
              HasSubstr("u may not be written"));
  EXPECT_THAT(violation([&] { executor.run({}, [&] { device::load_global<8>(u.data() + 1); }); }),
              HasSubstr("not aligned to its 8 bytes"));
}

TEST(ExecutorChecks, SharedAccessOutsideTheBlocksMemoryIsCaught) {
  EXPECT_THAT(violation([] { run(32, 128, [] { device::store_shared<4>(4 * device::lane_index() + 4, {0}); }); }),
              HasSubstr("by thread 31 of block 0: shared bytes 128 to 132 are outside the block's 128"));
  EXPECT_THAT(violation([] { run(32, 128, [] { device::store_matrices<2, false>(16 * device::lane_index(), {}); }); }),
              HasSubstr("outside the block's 128"));
  EXPECT_THAT(violation([] { run(32, 128, [] {
                               device::store_shared<8>(4, {0, 0});
                             }); }),
              HasSubstr("shared address 4 is not aligned to its 8 bytes"));
}

TEST(ExecutorChecks, SharedMemoryThatNothingWroteIsCaught) {
  const auto kernel = [](int written) {
    return violation([=] {
      run(32, 128, [=] {
        if (device::lane_index() < written) device::store_shared<4>(4 * device::lane_index(), {7});
        device::sync_warp();
        device::load_shared<4>(4 * device::lane_index());
      });
    });
  };
  EXPECT_EQ(kernel(32), "no violation");
  EXPECT_THAT(kernel(31), HasSubstr("shared bytes 124 to 128 are read before anything wrote them"));
  // What one block wrote is not there for the next.
  Executor executor;
  EXPECT_THAT(violation([&] {
                executor.run({.blocks = 2, .shared_bytes = 128}, [] {
                  if (device::block_index() == 0) device::store_shared<4>(4 * device::lane_index(), {7});
                  device::load_shared<4>(4 * device::lane_index());
                });
              }),
              HasSubstr("of block 1"));
}

TEST(ExecutorChecks, DivergentWarpWideCallIsCaught) {
  const std::string half = violation([] {
    run(32, 0, [] {
      if (device::lane_index() < 16) device::sync_warp();
    });
  });
  EXPECT_THAT(half, HasSubstr("16 threads stand at sync_warp at executor_test.cpp:"));
  EXPECT_THAT(half, HasSubstr("16 threads stand at the end"));
  const std::string branches = violation([] {
    run(32, 0, [] {
      if (device::lane_index() == 3)
        device::shuffle(0, 0);
      else
        device::shuffle(1, 0);
    });
  });
  EXPECT_THAT(branches, HasSubstr("1 threads stand at shuffle"));
  EXPECT_THAT(branches, HasSubstr("31 threads stand at shuffle"));
}

// On a GPU it is a shuffle, which all lanes of the warp take part in.
template <bool in_branch>
void asks_for_its_warp() {
  int warp = in_branch ? 0 : device::warp_index();
  if (device::lane_index() < 16) {
    if (in_branch) warp = device::warp_index();
    EXPECT_EQ(warp, device::thread_index() / 32);
  }
  device::sync_warp();
}

TEST(ExecutorChecks, WarpIndexInABranchThatSomeLanesTakeIsCaught) {
  EXPECT_EQ(violation_in_any_order(64, 0, asks_for_its_warp<false>), "no violation");
  EXPECT_THAT(
      violation_in_any_order(64, 0, asks_for_its_warp<true>),
      AllOf(HasSubstr("warp_index at executor_test.cpp:"), HasSubstr(" by thread 0 of block 0: thread 16 of the "
                                                                     "warp does not come here on its way to "
                                                                     "executor_test.cpp:")));
  EXPECT_THAT(violation_in_any_order(32, 0, [] { device::lane_index() < 3 ? device::warp_index() : 0; }),
              HasSubstr("thread 3 of the warp does not come here on its way to the end"));
  EXPECT_THAT(violation_in_any_order(64, 0,
                                     [] {
                                       if (device::thread_index() == 40) device::warp_index();
                                       device::sync_block();
                                     }),
              HasSubstr("by thread 40 of block 0: thread 32 of the warp does not come here"));
}

TEST(ExecutorChecks, DeadlockIsReportedWithWhereEveryThreadStands) {
  const std::string report = violation([] {
    run(96, 8, [] {
      if (device::thread_index() == 0) device::barrier_init(0, 1);
      device::sync_block();
      if (device::warp_index() == 0)
        device::sync_block();
      else if (device::warp_index() == 1)
        device::sync_warp(), device::barrier_wait(0, 0);
    });
  });
  EXPECT_THAT(report, HasSubstr("no thread can go on: block 0"));
  EXPECT_THAT(report, HasSubstr("32 threads stand at sync_block"));
  EXPECT_THAT(report, HasSubstr("32 threads stand at barrier_wait"));
  EXPECT_THAT(report, HasSubstr("32 threads stand at the end"));
}

TEST(ExecutorChecks, ErrorsUnwindEveryThreadAndLeaveTheExecutorUsable) {
  Executor executor;
  int alive = 0;
  struct Counted {
    int& count;
    explicit Counted(int& c) : count(++c) {}
    ~Counted() { --count; }
  };
  const auto throwing = [&] {
    const Counted here(alive);
    if (device::thread_index() == 40) throw std::runtime_error("thread 40 gives up");
    device::sync_block();
  };
  EXPECT_THROW(executor.run({.threads = 64}, throwing), std::runtime_error);
  EXPECT_EQ(alive, 0);
  EXPECT_THROW(executor.run({.threads = 64, .shared_bytes = 4},
                            [&] {
                              const Counted here(alive);
                              device::load_shared<4>(0);
                            }),
               ExecutionError);
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(executor.run({.threads = 64}, [] { device::sync_block(); }).block_barriers, 1u);
}

TEST(ExecutorChecks, MemoryOfEarlierKernelsIsWaitedFor) {
  alignas(16) static std::array<u32, 128> u, y, table;
  Executor executor;
  executor.declare("u", u.data(), sizeof u, false, true);
  executor.declare("y", y.data(), sizeof y, true, true);
  executor.declare("table", table.data(), sizeof table, false);
  const auto before_and_after = [&](auto access) {
    const auto refused = [&](bool wait) {
      return violation_in_any_order({.shared_bytes = 1024}, executor, [&, wait] {
        device::let_next_grid_begin();
        if (wait) device::wait_for_previous_grid();
        access();
      });
    };
    EXPECT_EQ(refused(true), "no violation");
    return refused(false);
  };
  const int word = 4 * 31;
  EXPECT_THAT(before_and_after([&] { device::load_global<16>(u.data() + word); }),
              HasSubstr("load_global at executor_test.cpp:"));
  EXPECT_THAT(before_and_after([&] { device::load_global_once<Cache::keep>(u.data() + word); }),
              HasSubstr("u may be in use by an earlier kernel: wait_for_previous_grid comes first"));
  EXPECT_THAT(before_and_after([&] { device::store_global<4>(y.data() + device::lane_index(), {}); }),
              HasSubstr("y may be in use by an earlier kernel"));
  EXPECT_THAT(before_and_after([&] { device::copy_async(16 * device::lane_index(), u.data(), 16); }),
              HasSubstr("copy_async at "));
  EXPECT_THAT(before_and_after([&] {
                if (device::lane_index() > 0) return;
                device::barrier_init(0, 1);
                device::fence_async();
                device::barrier_expect(0, 16);
                device::bulk_load(16, u.data(), 16, 0, Cache::normal);
                device::barrier_wait(0, 0);
              }),
              HasSubstr("bulk_load at "));
  EXPECT_EQ(before_and_after([&] { device::load_constant<16>(table.data()); }), "no violation");
  // By the read-only path it may be moved before the wait, so it is refused after it too.
  for (const bool wait : {false, true})
    EXPECT_THAT(violation_in_any_order({}, executor,
                                       [&, wait] {
                                         if (wait) device::wait_for_previous_grid();
                                         device::load_constant<16>(u.data() + word);
                                       }),
                HasSubstr(wait ? "u may be written by a kernel: load_global reads it" : "wait_for_previous_grid"));
  // Who issues a copy waits, whoever else has waited.
  EXPECT_THAT(violation_in_any_order({.shared_bytes = 1024}, executor,
                                     [&] {
                                       if (device::lane_index() != 3) device::wait_for_previous_grid();
                                       device::sync_warp();
                                       device::load_global<4>(u.data());
                                     }),
              HasSubstr("by thread 3 of block 0: u may be in use"));
}

TEST(ExecutorChecks, ErrorsBeginWithTheLaunchesDescription) {
  const auto refused = [](std::string description, auto kernel) {
    return violation([&] { Executor().run({.shared_bytes = 4, .description = description}, kernel); });
  };
  const auto divergent = [] {
    if (device::lane_index() < 16) device::sync_warp();
  };
  EXPECT_THAT(refused("token x, seed 7", [] { device::load_shared<4>(0); }),
              StartsWith("token x, seed 7: load_shared at executor_test.cpp:"));
  EXPECT_THAT(refused("token x, seed 7", divergent), StartsWith("token x, seed 7: no thread can go on: block 0"));
  EXPECT_THAT(refused("", divergent), StartsWith("no thread can go on: block 0"));
}

TEST(ExecutorChecks, LaunchesThatNoDeviceTakesAreRefused) {
  Executor executor;
  EXPECT_THROW(executor.run({.blocks = 0}, [] {}), std::invalid_argument);
  EXPECT_THROW(executor.run({.threads = 0}, [] {}), std::invalid_argument);
  EXPECT_THROW(executor.run({.threads = 1025}, [] {}), std::invalid_argument);
  EXPECT_THROW(executor.run({.shared_bytes = 227 * 1024 + 1}, [] {}), std::invalid_argument);
  EXPECT_THROW(device::sync_warp(), ExecutionError);
}

// ---- asynchronous copies

template <bool wait>
void copy_through_shared(const u32* u, u32* y) {
  const int lane = device::lane_index();
  device::copy_async(16 * lane, u + 4 * lane, 16);
  device::copy_async_commit();
  if (wait) device::copy_async_wait<0>();
  device::store_global<16>(y + 4 * lane, device::load_shared<16>(16 * lane));
}

TEST(ExecutorCopies, AsynchronousCopiesMustBeWaitedFor) {
  const std::vector<u32> u = iota(128);
  std::vector<u32> y(128);
  Executor executor;
  executor.declare("u", u.data(), 512, false);
  executor.declare("y", y.data(), 512, true);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    std::fill(y.begin(), y.end(), ~0u);
    executor.run({.shared_bytes = 512, .seed = seed}, [&] { copy_through_shared<true>(u.data(), y.data()); });
    EXPECT_EQ(y, u);
    EXPECT_THAT(violation([&] {
                  executor.run({.shared_bytes = 512, .seed = seed},
                               [&] { copy_through_shared<false>(u.data(), y.data()); });
                }),
                HasSubstr("which was not waited for since"));
  }
}

TEST(ExecutorCopies, WaitingLeavesTheNewestGroupsPending) {
  const std::vector<u32> u = iota(8);
  Executor executor;
  executor.declare("u", u.data(), 32, false);
  const auto read = [&](SharedAddress from, std::uint64_t seed) {
    return violation([&] {
      executor.run({.threads = 1, .shared_bytes = 32, .seed = seed}, [&] {
        device::copy_async(0, u.data(), 16);
        device::copy_async_commit();
        device::copy_async(16, u.data() + 4, 16);
        device::copy_async_commit();
        device::copy_async_wait<1>();
        device::load_shared<16>(from);
      });
    });
  };
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    EXPECT_EQ(read(0, seed), "no violation");
    EXPECT_THAT(read(16, seed), HasSubstr("were written by a copy of thread 0 at executor_test.cpp:"));
  }
}

TEST(ExecutorCopies, ShortCopiesAreFilledWithZeros) {
  const std::vector<u32> u = {0x11112222, 0x33334444, 0x55556666, 0x77778888};
  Executor executor;
  executor.declare("u", u.data(), 6, false);
  executor.run({.threads = 1, .shared_bytes = 32}, [&] {
    device::copy_async(0, u.data(), 6);
    device::copy_async(16, u.data(), 0);
    device::copy_async_commit();
    device::copy_async_wait<0>();
    const Words<4> six = device::load_shared<16>(0), none = device::load_shared<16>(16);
    EXPECT_EQ(std::to_array(six.word), (std::array<u32, 4>{0x11112222, 0x4444, 0, 0}));
    EXPECT_EQ(std::to_array(none.word), (std::array<u32, 4>{}));
  });
}

TEST(ExecutorTensorCopies, BoxLandsSwizzledAndZeroOutside) {
  Rows rows;
  const TensorMap map = Rows::map(rows.in);
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const Counters counters = rows.executor.run({.threads = 64, .shared_bytes = 4096, .seed = seed}, [&] {
      load_box(map, {0, 4, 0, 0, 0});
      device::barrier_wait(0, 0);
      const int column = device::thread_index();
      for (int row = 0; row < 16; ++row) {
        const int chunk = (column / 8) ^ (row % 8);
        const u32 value = device::load_shared<2>(kSlab + 128 * row + 16 * chunk + 2 * (column % 8))[0];
        EXPECT_EQ(value, row + 4 < Rows::kRows ? rows.in[(row + 4) * Rows::kPitch + column] : 0);
      }
    });
    EXPECT_EQ(counters.bulk_load_bytes, 9u * 128);
  }
}

TEST(ExecutorTensorCopies, LoadsMustBeWaitedFor) {
  Rows rows;
  const TensorMap map = Rows::map(rows.in);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {  // whether the copy is late or not
    EXPECT_THAT(violation([&] {
                  rows.executor.run({.shared_bytes = 4096, .seed = seed}, [&] {
                    load_box(map, {0, 0, 0, 0, 0});
                    device::load_shared<16>(kSlab);
                    device::barrier_wait(0, 0);
                  });
                }),
                HasSubstr("shared bytes 1024 to 1040 were written by an asynchronous copy at executor_support.hpp:"));
    EXPECT_EQ(violation([&] {
                rows.executor.run({.shared_bytes = 4096, .seed = seed}, [&] { load_box(map, {0, 0, 0, 0, 0}); });
              }),
              "block 0 ended with 1 bulk loads that nothing waited for");
  }
}

TEST(ExecutorTensorCopies, PhasesOfABarrierAlternate) {
  Rows rows;
  const TensorMap map = Rows::map(rows.in);
  rows.executor.run({.shared_bytes = 4096}, [&] {
    load_box(map, {0, 0, 0, 0, 0});
    device::barrier_wait(0, 0);
    if (device::thread_index() == 0) {
      device::barrier_expect(0, Rows::kBoxBytes);
      device::tensor_load(kSlab, map, {0, 1, 0, 0, 0}, 0, Cache::normal);
    }
    device::barrier_wait(0, 1);
    EXPECT_EQ(device::load_shared<2>(kSlab)[0], rows.in[Rows::kPitch]);
  });
}

template <bool fence, bool wait>
void write_two_boxes(const TensorMap& map) {
  for (u32 value : {0x00010001, 0x00020002}) {
    for (int chunk = device::thread_index(); chunk < Rows::kBoxBytes / 16; chunk += 32)
      device::store_shared<16>(kSlab + 16 * chunk, {value, value, value, value});
    if (fence) device::fence_async();
    device::sync_warp();
    if (device::thread_index() == 0) {
      device::tensor_store(map, {0, value == 0x00010001 ? 5 : 20, 0, 0, 0}, kSlab, Cache::normal);
      device::store_commit();
      if (wait) device::store_wait_read<0>();
    }
    device::sync_warp();
  }
}

TEST(ExecutorTensorCopies, StoresWriteInsideTheViewOnly) {
  Rows rows;
  const TensorMap map = Rows::map(rows.out);
  const Counters counters = rows.executor.run({.shared_bytes = 4096}, [&] { write_two_boxes<true, true>(map); });
  for (int i = 0; i < Rows::kRows * Rows::kPitch; ++i) EXPECT_EQ(rows.out[i], i < 5 * Rows::kPitch ? 0xffff : 1);
  EXPECT_EQ(counters.bulk_store_bytes, 8u * 128);
}

TEST(ExecutorTensorCopies, StoresTakeAFenceBeforeAndAWaitAfter) {
  Rows rows;
  const TensorMap map = Rows::map(rows.out);
  const auto refused = [&](auto kernel) {
    return violation_in_any_order({.shared_bytes = 4096}, rows.executor, kernel);
  };
  EXPECT_THAT(refused([&] { write_two_boxes<false, true>(map); }),
              HasSubstr("were written by thread 0 at executor_test.cpp:"));
  EXPECT_THAT(refused([&] { write_two_boxes<true, false>(map); }),
              HasSubstr("are read by a copy of thread 0 at executor_test.cpp:"));
  EXPECT_EQ(refused([&] { write_two_boxes<true, true>(map); }), "no violation");
  EXPECT_EQ(refused([&] {
              device::store_shared<16>(kSlab + 16 * device::lane_index(), {});
              device::fence_async();
              device::sync_warp();
              if (device::lane_index() > 0) return;
              device::bulk_store(rows.out.data(), kSlab, 512, Cache::normal);
              device::store_commit();
            }),
            "block 0 ended while 1 bulk stores may still read its shared memory");
}

TEST(ExecutorTensorCopies, MapsThatNoDeviceTakesAreRefused) {
  Rows rows;
  const auto load = [&](const TensorView& view, SharedAddress to = kSlab, int first = 0) {
    const TensorMap map = make_tensor_map(view);
    return violation([&] {
      rows.executor.run({.threads = 1, .shared_bytes = 8192}, [&] {
        device::barrier_init(0, 1);
        device::tensor_load(to, map, {first, 0, 0, 0, 0}, 0, Cache::normal);
      });
    });
  };
  TensorView view = Rows::view(rows.in);
  EXPECT_THAT(load(view, 1088), HasSubstr("shared address 1088 is not aligned to 128"));
  EXPECT_THAT(load(view, kSlab, 4), HasSubstr("the first coordinate is 4, must be a multiple of 8 (16 bytes)"));
  const TensorMap out = make_tensor_map(Rows::view(rows.out));
  const auto store_at = [&](int line) {
    return violation([&] {
      rows.executor.run({.threads = 1, .shared_bytes = 8192}, [&] {
        device::tensor_store(out, {0, line, 0, 0, 0}, kSlab, Cache::normal);
      });
    });
  };
  EXPECT_THAT(store_at(-1), HasSubstr("coordinate 1 is -1, stores take none below 0"));
  view.base = rows.in.data() + 1;
  EXPECT_THAT(load(view), HasSubstr("the map's memory is not aligned to 16 bytes"));
  view = Rows::view(rows.in), view.stride_bytes[1] = 130;
  EXPECT_THAT(load(view), HasSubstr("stride 1 of the map is 130 bytes"));
  view = Rows::view(rows.in), view.box[0] = 128;
  EXPECT_THAT(load(view), HasSubstr("128 elements wide"));
  view = Rows::view(rows.in), view.extent[1] = 14;  // one row more than there is memory for
  view.box[1] = 14;
  const TensorMap map = make_tensor_map(view);
  EXPECT_THAT(violation([&] {
                rows.executor.run({.shared_bytes = 4096}, [&] {
                  load_box(map, {0, 0, 0, 0, 0});
                  device::barrier_wait(0, 0);
                });
              }),
              HasSubstr("tensor_load"));
  EXPECT_THAT(violation([&] { rows.executor.run({.shared_bytes = 8}, [] { device::barrier_expect(0, 16); }); }),
              HasSubstr("no barrier was initialised"));
}

// ---- bulk copies of what lies together

TEST(ExecutorBulkCopies, BytesGoThereAndBack) {
  const int count = 256;
  alignas(16) static std::array<u32, count> u, y;
  std::iota(u.begin(), u.end(), 5u);
  Executor executor;
  executor.declare("u", u.data(), sizeof u, false);
  executor.declare("y", y.data(), sizeof y, true);
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    y.fill(0);
    const Counters counters = executor.run({.shared_bytes = 16 + 4 * count, .seed = seed}, [&] {
      const int lane = device::lane_index();
      if (lane == 0) {
        device::barrier_init(0, 1);
        device::fence_async();
        device::barrier_expect(0, 4 * count);
        device::bulk_prefetch(u.data(), 4 * count);
        device::bulk_load(16, u.data(), 4 * count, 0, Cache::stream);
      }
      device::sync_warp();
      device::barrier_wait(0, 0);
      for (int i = lane; i < count; i += 32)
        device::store_shared<4>(16 + 4 * i, {device::load_shared<4>(16 + 4 * i)[0] + 1});
      device::fence_async();
      device::sync_warp();
      if (lane > 0) return;
      device::bulk_store(y.data(), 16, 2 * count, Cache::normal);
      device::store_commit();
      device::bulk_store(y.data() + count / 2, 16 + 2 * count, 2 * count, Cache::normal);
      device::store_commit();
      device::store_wait_read<1>();
      device::store_wait<0>();
    });
    for (int i = 0; i < count; ++i) EXPECT_EQ(y[i], u32(i + 6));
    EXPECT_EQ(counters.bulk_load_bytes, 4u * count);
    EXPECT_EQ(counters.bulk_store_bytes, 4u * count);
    EXPECT_EQ(counters.global_instructions, 0u);
  }
}

TEST(ExecutorBulkCopies, BytesThatNoDeviceTakesAreRefused) {
  alignas(16) static std::array<u32, 8> u;
  Executor executor;
  executor.declare("u", u.data(), sizeof u, false);
  const auto load = [&](SharedAddress to, const u32* from, u32 bytes) {
    return violation([&] {
      executor.run({.threads = 1, .shared_bytes = 256}, [&] {
        device::barrier_init(0, 1);
        device::fence_async();
        device::barrier_expect(0, bytes);
        device::bulk_load(to, from, bytes, 0, Cache::normal);
        device::barrier_wait(0, 0);
      });
    });
  };
  EXPECT_EQ(load(16, u.data(), 32), "no violation");
  EXPECT_THAT(load(16, u.data(), 24), HasSubstr("24 bytes at shared address 16, all must be multiples of 16"));
  EXPECT_THAT(load(24, u.data(), 32), HasSubstr("32 bytes at shared address 24, all must be multiples of 16"));
  EXPECT_THAT(load(16, u.data() + 1, 16), HasSubstr("all must be multiples of 16"));
  EXPECT_THAT(load(16, u.data(), 48), HasSubstr("bulk_load at executor_test.cpp:"));
  EXPECT_THAT(load(240, u.data(), 32), HasSubstr("outside the block's 256"));
  EXPECT_THAT(violation([&] {
                executor.run({.threads = 1, .shared_bytes = 16}, [&] {
                  device::store_shared<16>(0, {});
                  device::fence_async();
                  device::bulk_store(u.data(), 0, 16, Cache::normal);
                });
              }),
              HasSubstr("u may not be written"));
}

// ---- counters, against counts by hand

TEST(ExecutorCounters, SharedWavefrontsAndBankConflicts) {
  struct Pattern {
    const char* name;
    int stride;  // bytes from lane to lane
    unsigned wavefronts, conflicts;
  };
  const auto count = []<int bytes>(std::integral_constant<int, bytes>, int stride) {
    return run(32, 31 * stride + bytes, [=] { device::store_shared<bytes>(stride * device::lane_index(), {}); });
  };
  const auto expect = [](const Counters& counters, const Pattern& pattern) {
    EXPECT_EQ(counters.shared_instructions, 1u) << pattern.name;
    EXPECT_EQ(counters.shared_wavefronts, pattern.wavefronts) << pattern.name;
    EXPECT_EQ(counters.shared_conflicts, pattern.conflicts) << pattern.name;
  };
  for (const Pattern& pattern : {Pattern{"2 bytes, side by side", 2, 1, 0}, Pattern{"2 bytes, a word apart", 4, 1, 0},
                                 Pattern{"2 bytes, one bank", 128, 32, 31}})
    expect(count(std::integral_constant<int, 2>(), pattern.stride), pattern);
  for (const Pattern& pattern :
       {Pattern{"4 bytes, side by side", 4, 1, 0}, Pattern{"4 bytes, every other bank", 8, 2, 1},
        Pattern{"4 bytes, one bank", 128, 32, 31}, Pattern{"4 bytes, padded column", 132, 1, 0}})
    expect(count(std::integral_constant<int, 4>(), pattern.stride), pattern);
  for (const Pattern& pattern : {Pattern{"8 bytes, side by side", 8, 2, 0}, Pattern{"8 bytes, 64 apart", 64, 16, 14}})
    expect(count(std::integral_constant<int, 8>(), pattern.stride), pattern);
  for (const Pattern& pattern :
       {Pattern{"16 bytes, side by side", 16, 4, 0}, Pattern{"16 bytes, 128 apart", 128, 32, 28}})
    expect(count(std::integral_constant<int, 16>(), pattern.stride), pattern);
  const Counters one_word = run(32, 4, [] {
    if (device::lane_index() == 0) device::store_shared<4>(0, {});
    device::sync_warp();
    device::load_shared<4>(0);
  });
  EXPECT_EQ(one_word.shared_wavefronts, 2u);
  EXPECT_EQ(one_word.shared_conflicts, 0u);
}

TEST(ExecutorCounters, InactiveLanesLeaveTheirQuarterOfTheWarpIdle) {
  const Counters counters = run(32, 512, [] {
    if (device::lane_index() % 8 == 0) device::store_shared<16>(16 * device::lane_index(), {});
  });
  EXPECT_EQ(counters.shared_wavefronts, 4u);
}

TEST(ExecutorCounters, MatrixRowsConflictUnlessSwizzled) {
  const auto count = [](bool swizzled) {
    return run(32, 4096, [=] {
      const int lane = device::lane_index();
      device::store_matrices<4, true>(128 * lane + 16 * (swizzled ? lane % 8 : 0), {});
    });
  };
  EXPECT_EQ(count(false).shared_wavefronts, 32u);
  EXPECT_EQ(count(false).shared_conflicts, 28u);
  EXPECT_EQ(count(true).shared_wavefronts, 4u);
  EXPECT_EQ(count(true).shared_conflicts, 0u);
}

TEST(ExecutorCounters, GlobalSectorsAreThoseThatAWarpTouches) {
  alignas(32) static std::array<u32, 512> memory;
  Executor executor;
  executor.declare("memory", memory.data(), sizeof memory, true);
  const auto sectors = [&](int stride, int offset) {
    const Counters loads =
        executor.run({}, [&] { device::load_global<4>(memory.data() + stride * device::lane_index() + offset); });
    EXPECT_EQ(loads.global_instructions, 1u);
    if (stride == 0) return loads.global_load_sectors;  // one place is no two lanes' to write
    const Counters stores =
        executor.run({}, [&] { device::store_global<4>(memory.data() + stride * device::lane_index() + offset, {}); });
    EXPECT_EQ(loads.global_load_sectors, stores.global_store_sectors);
    EXPECT_EQ(loads.global_store_sectors + stores.global_load_sectors, 0u);
    EXPECT_EQ(stores.global_instructions, 1u);
    return loads.global_load_sectors;
  };
  EXPECT_EQ(sectors(1, 0), 4u);
  EXPECT_EQ(sectors(1, 4), 5u);
  EXPECT_EQ(sectors(0, 0), 1u);
  EXPECT_EQ(sectors(8, 0), 32u);
  EXPECT_EQ(sectors(4, 0), 16u);
}

TEST(ExecutorCounters, LanesAtOnePlaceInTheSourceMakeOneInstruction) {
  const Counters counters = run(32, 128, [] {
    if (device::lane_index() < 16)
      device::store_shared<4>(4 * device::lane_index(), {});
    else
      device::store_shared<4>(4 * device::lane_index(), {});
  });
  EXPECT_EQ(counters.shared_instructions, 2u);
}

// Lanes that run apart between barriers still make one instruction where they meet in the source.
TEST(ExecutorCounters, OrderDoesNotChangeWhatIsCounted) {
  alignas(32) static std::array<u32, 2 * 64> memory;
  Executor executor;
  executor.declare("memory", memory.data(), sizeof memory, true);
  const auto count = [&](Order order, std::uint64_t seed) {
    return executor.run({.blocks = 2, .threads = 64, .shared_bytes = 256, .order = order, .seed = seed}, [] {
      const int t = device::thread_index();
      u32* const own = memory.data() + 64 * device::block_index() + t;
      for (int round = 0; round < 4; ++round) {
        if (t % 32 < 8 * round) device::store_shared<4>(4 * t, device::load_global<4>(own));
        device::store_shared<4>(4 * t, {});
        device::sync_warp();
        device::load_shared<4>(4 * (t ^ round));
        device::sync_block();
      }
      device::store_global<4>(own, {});
    });
  };
  const Counters ascending = count(Order::ascending, 0);
  EXPECT_EQ(ascending.global_instructions, 2u * 2 * (3 + 1));
  EXPECT_EQ(ascending.shared_instructions, 2u * 2 * (3 + 4 + 4));
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) EXPECT_EQ(count(Order::random, seed), ascending) << seed;
}

TEST(ExecutorCounters, ASmallKernelByHand) {
  // Two blocks of two warps. Each warp: 4 packed operations, 1 conversion, 2 unpacks of halves and 1 of bf16, 2 byte
  // permutes and 3 fp32 operations a lane; 1 mma of each kind; 1 warp barrier. Each block: 1 block barrier.
  Executor executor;
  const Counters counters = executor.run({.blocks = 2, .threads = 64}, [] {
    u32 x = device::pack2<Dtype::f16>(1, 2);
    x = device::add2<Dtype::f16>(x, x), x = device::mul2<Dtype::f16>(x, x);
    x = device::sub2<Dtype::bf16>(x, x), x = device::fma2<Dtype::bf16>(x, x, x);
    x = device::permute_bytes(x, device::negate2(x), 0x5410), x = device::permute_bytes(x, x, 0x7632);
    device::count_fp32(3);
    u32 halves[2] = {};
    float floats[4] = {device::lower_float(x), device::upper_float(x), device::upper_float<Dtype::bf16>(x)};
    device::mma_f16acc(halves, {x, x, x, x}, {x, x});
    device::mma_f32acc<Dtype::bf16>(floats, {x, x, x, x}, {x, x});
    device::sync_warp();
    device::sync_block();
  });
  Counters expected;
  expected.mma_f16acc = expected.mma_f32acc = expected.warp_barriers = 4;
  expected.packed_operations = 4 * 128, expected.conversions = 128, expected.byte_permutes = 2 * 128;
  expected.half_unpacks = 2 * 128, expected.bf16_unpacks = 128;
  expected.fp32_operations = 3 * 128, expected.block_barriers = 2;
  EXPECT_EQ(counters, expected);
  Counters sum = counters;
  sum += counters;
  for (const host::CounterField& field : host::kCounterFields)
    EXPECT_EQ(sum.*field.value, 2 * (expected.*field.value)) << field.name;
}

}  // namespace
}  // namespace danaus
