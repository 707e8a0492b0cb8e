// Blocks of a launch: how many of them a device runs at once, which of them differ in what they do, and running some.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kernels/executor/executor.hpp"
#include "kernels/plan/program.hpp"

namespace danaus {

// The kernel's fused variant; null for a kernel that is no convolution by itself.
const Variant* variant_of(const KernelId& id);

// An estimate of the device's occupancy: blocks on a multiprocessor as the kernel is tuned, and as far as shared memory
// and threads have room, times the multiprocessors.
std::int64_t blocks_at_once(const KernelId& id, const Device& device, int threads, int shared_bytes);

// The arguments of a launch, which are of its family's type.
template <class Arguments>
Arguments arguments_of(const Launch& launch) {
  Arguments values;
  std::memcpy(&values, launch.arguments.data(), sizeof values);
  return values;
}

// How blocks share out a launch's tasks. A task's number counts through the digits, the fastest first: a slice of an
// item of a channel, say. Block b has `count` tasks from `first` on, `step` apart.
struct WorkDivision {
  struct Tasks {
    std::int64_t first, count, step = 1;
  };
  std::vector<std::int64_t> digits;
  std::function<Tasks(std::int64_t block)> tasks_of;
  bool of_elements = false;  // all threads take numbers of an array in turn, each of which later launches may need
};
WorkDivision work_division(const Launch& launch);

// Two blocks are of one class if they have as many tasks, and the digits of their first tasks are alike, and of their
// last tasks. Digits are alike if both are the first, both the last, or both between.
using BlockClass = std::vector<std::int64_t>;
BlockClass class_of(const WorkDivision& division, std::int64_t block);

// The first block of each class and the last of all, in ascending order; of clusters their first blocks.
std::vector<std::int64_t> differing_blocks(const Launch& launch);
std::vector<std::int64_t> all_blocks(const Launch& launch);

// Runs these blocks of the launch, of clusters whole ones, each by itself; `after` is told when one is over.
host::Counters run_blocks(const Launch& launch, std::span<const std::int64_t> blocks, const host::Launch& how = {},
                          const std::function<void()>& after = {});

}  // namespace danaus
