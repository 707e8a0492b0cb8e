// The work of a launch of any size, counted by executing a little of it.
//
// Of a case that removes frequencies it is that of the kernel that its plan takes, which may leave out some of it.
//
// An item is two batch rows of a channel in the pair fold, and one row in the right angle. Blocks do the same work for
// each item. They do a little more when they begin, and when they meet a channel. A launch's work is a sum of these
// parts. A few executions of a few items tell the parts apart. The sum is exact if rows begin at sectors: if L is a
// multiple of 16 and K one of 8. Else the sectors of ordinary loads and stores are those of the rows that were
// executed.
#pragma once

#include <cstdint>

#include "kernels/executor/executor.hpp"
#include "kernels/plan/choice.hpp"

namespace danaus {

// What a launch consists of.
struct Extent {
  std::int64_t blocks = 0;
  std::int64_t items = 0;       // of all the rows that an item has
  std::int64_t half_items = 0;  // pair fold: of the last row of an odd batch
  std::int64_t visits = 0;      // workers (blocks, or warps that work by themselves) times the channels that they meet
  int workers_of_block = 1;
  std::int64_t most = 0;  // items that one worker after another computes in the place that has most of them
};

struct Work {
  host::Counters block, item, half_item, visit;  // of each
  host::Counters filter;                         // the transform of all filters of the case, which is not in the above

  host::Counters launch(const Extent& extent) const;
};

// Blocks that the device is to run at once, by the kernel's tuning and as far as its shared memory goes.
std::int64_t concurrent_blocks(const Variant& variant, const Device& device);

// The launch of a case where `concurrent` blocks run at once, on the executor or a GPU with the limits of `device`.
Extent extent_of(const Convolution& problem, const Device& device, std::int64_t concurrent);

// Items in the place that has most, over those of all if they were shared out evenly among so many blocks.
double imbalance(const Extent& extent, std::int64_t concurrent);

// Bytes of spectra that a launch reads again from L2: for each worker that keeps its channel's, or whose multiprocessor
// holds them in L1; else for each item. `bytes_of_channel` are of one spectrum.
double spectrum_rereads(const Variant& variant, const Device& device, const Work& work, const Extent& extent,
                        double bytes_of_channel, std::int64_t channels);

// Times that the worker that has most items waits for memory, since nothing brought ahead what it needs: once for each
// row that its own threads move, and where a whole block reads a channel's spectrum anew for each item, once for each
// 32 numbers of it that a thread has.
double waits(const Variant& variant, const Work& work, const Extent& extent, Path path, double bytes_of_channel);

// Throws where the case takes several launches, which program_work.hpp counts.
void require_one_launch(const Convolution& problem, const Device& device);

// By executing the kernel that the plan chooses on the device, or one with its limits, on a few items. Half items are
// counted where the case has them. Throws where no kernel computes the case, or several launches do.
Work count_work(const Convolution& problem, const Device& device);
// The same without the filters' transform.
Work count_launch(const Convolution& problem, const Device& device);

}  // namespace danaus
