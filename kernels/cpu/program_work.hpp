// The work of every launch of a program, of any size, counted by executing a little of each.
//
// A plan is made for the case as it is, on a machine that has the device's limits and memory that only takes room where
// it is written, and executes few of the blocks. Fused convolutions are counted as work.hpp does it; of outer passes,
// sums over the batch and chunks of state-space models blocks are executed with few items and with more, which tells
// the two apart; of all else some blocks stand for those between them, the last for itself. Exact where blocks and
// items are alike; of an odd batch the last row counts as two to passes and sums.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kernels/cpu/work.hpp"
#include "kernels/plan/program.hpp"

namespace danaus {

struct LaunchWork {
  std::string kernel;  // name of a fused convolution's, else of its family
  KernelId id;
  Path path = Path::any;
  bool prepares;           // of prepare(), not of execute()
  std::int64_t times = 1;  // as often, of other channels or arrays
  std::int64_t blocks = 1, concurrent = 1;
  int threads = 0, shared_bytes = 0;
  host::Counters counters;  // of one of them
  double imbalance = 1;     // work of the multiprocessor that has most, over the average
  double turns = 0;         // of warps through the loop of their kernel: an item, a stage or, without such, once
  bool phased = false;      // blocks load, compute and store one after another, all of their warps together
  bool ahead = false;       // of those, what a block computes next is on its way meanwhile
  double waits = 0;         // for what nothing brought ahead: of the worker that has most, where they are known
  double l2_bytes = 0;      // between L2 and the multiprocessors: arrays once, spectra and weights for each that reads
  double hbm_bytes = 0;     // arrays once, but for what one launch leaves for the next in half of L2
};

struct ProgramWork {
  // Of the kernel that has most of the work.
  std::string variant;
  int size;  // N; 0 without an FFT
  std::vector<int> factors;
  int shared_bytes;
  std::int64_t concurrent;  // blocks, as it is tuned
  std::vector<LaunchWork> launches;
  std::int64_t prepared_bytes, workspace_bytes, constant_bytes;  // that the plan has

  host::Counters sum(bool prepares) const;
};

// `concurrent` blocks of each kernel run at once; 0: as it is tuned, and as far as the device has room. Throws where a
// plan cannot be made.
ProgramWork count_program(const Case& asked, const Device& device, std::int64_t concurrent = 0);

// Calls visit(launch, constants) for each launch of a program for the device, first those of prepare(), as for arrays
// that begin at 256 bytes; with the first launch of a step come its constants. Nothing is executed; kernels may be such
// that this build lacks.
using LaunchVisitor = std::function<void(const Launch&, std::span<const std::uint32_t> constants)>;
void visit_launches(const Case& asked, const Device& device, const LaunchVisitor& visit);

// Of a program for the device, also of one that this build lacks the kernels of: ProgramWork without launches.
ProgramWork measure_program(const Case& asked, const Device& device);

// Whether count_program() counts the case: a plan for the device can be made, and this build has its kernels. The other
// throws where it is not so, saying why.
bool is_counted(const Case& asked, const Device& device);
void require_counted(const Case& asked, const Device& device);

}  // namespace danaus
