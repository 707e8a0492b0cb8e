// The executor as a machine that plans run on: every kernel on the CPU, checked and counted.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>

#include "kernels/executor/executor.hpp"
#include "kernels/plan/machine.hpp"

namespace danaus {

struct ExecutorOptions {
  Device device = {};  // whose limits it has: kernels are those that such a device would run
  int blocks = 2;      // that a launch makes, where the work is shared out among as many as run at once
  host::Order order = host::Order::ascending;  // in which threads get to run
  std::uint64_t seed = 0;
  std::int64_t memory_bytes = std::numeric_limits<std::int64_t>::max();  // of everything that plans have there
  // Told what each launch did, from the thread that launched it.
  std::function<void(const Launch&, const host::Counters&)> observer = {};
};

std::shared_ptr<const Machine> executor_machine(ExecutorOptions options = {});

// A map as the executor's tensor copies take them.
TensorMap executor_tensor_map(const TensorShape& shape, const void* data);

}  // namespace danaus
