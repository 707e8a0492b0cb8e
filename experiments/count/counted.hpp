// The work of a case's kernel, with what it is counted for.
#pragma once

#include "experiments/cli/environment.hpp"
#include "kernels/cpu/program_work.hpp"
#include "kernels/cpu/work.hpp"

namespace danaus {

struct Counted {
  Convolution problem;
  const Variant* variant;
  Extent extent;
  Work work;
  host::Counters launch;  // all of it
};

// `concurrent` blocks run at once; 0: as many as the kernel is tuned for.
Counted count(const Convolution& problem, const Device& device, std::int64_t concurrent = 0);

// Instructions of warps that the counters know: no addresses, moves, loops or waiting.
double counted_instructions(const host::Counters& counters);

// {"variant", "fft_size", "launch": {"blocks", "threads", "items", ...}, "counts": {"launch", "item", "half_item",
// "visit", "block", "filter": {counter: value}}}
Json describe(const Counted& counted);
// Of a program of several launches: {"variant", "fft_size", "launches": [{"kernel", "part": "prepare" | "execute",
// "times", "blocks", "threads", "shared_bytes", "l2_bytes", "hbm_bytes", "counts": of one}], "sums": {"prepare",
// "execute"}}
Json describe(const ProgramWork& program);

// Whether a case is counted part by part: a convolution in one launch.
bool is_one_launch(const Case& asked, const Device& device);

}  // namespace danaus
