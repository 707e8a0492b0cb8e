// The executor as a machine that plans run on: every kernel on the CPU, checked and counted.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "kernels/executor/executor.hpp"
#include "kernels/plan/machine.hpp"

namespace danaus {

// The executor in place of the GPUs that the project names: with their limits and multiprocessors.
Device h200();
Device h100();
Device a100();

struct ExecutorOptions {
  Device device = h200();  // whose launches it executes, by kernels that such a device would run
  int blocks = 0;          // that run at once, where that is to be few; 0: as many as the device has room for
  // Launches of up to so many blocks are executed whole; those that take an array's numbers one by one, up to eight
  // times as many. Larger launches execute the blocks that differ. What only other blocks would write is not known.
  std::int64_t whole_blocks = std::numeric_limits<std::int64_t>::max();
  host::Order order = host::Order::ascending;  // in which threads get to run
  std::uint64_t seed = 0;
  std::int64_t memory_bytes = std::numeric_limits<std::int64_t>::max();  // of everything that plans have there
  // Told what each launch did, from the thread that launched it.
  std::function<void(const Launch&, const host::Counters&)> observer = {};
};

std::shared_ptr<const Machine> executor_machine(ExecutorOptions options = {});

// Which numbers of an array are known, each of so many bytes. Empty where all are.
std::vector<bool> known_numbers(const Machine& machine, const void* data, std::int64_t count, int number_bytes);

// A map as the executor's tensor copies take them.
TensorMap executor_tensor_map(const TensorShape& shape, const void* data);

}  // namespace danaus
