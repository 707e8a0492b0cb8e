// Verifies a case on a GPU, then times it.
#pragma once

#include <memory>
#include <vector>

#include "experiments/cli/environment.hpp"
#include "experiments/methods/method.hpp"
#include "experiments/timing/protocol.hpp"

namespace danaus {

class Bencher {
 public:
  virtual ~Bencher() = default;

  // {"name", "sm", "multiprocessors", "l2_bytes", "memory_bytes", "driver", "runtime", "cufft", "mig",
  //  "power_limit_watts"}: the same in every run on the device; what is not known is null.
  virtual Json device() const = 0;

  // What the device copies, in bytes read and written a second: gigabytes of noise, in bursts.
  virtual double copy_rate() const = 0;

  // The result rows of a case by some methods but for what was asked:
  //   "variant", "fft_size", "factors": of it, where they are known
  //   "verify": {"status": "passed" | "failed", "truth", "rows": that were checked, "of", "nonfinite": in all rows, and
  //              of the output that takes most of its bound the errors and bounds of verdict_row(); where there are
  //              several "outputs": of each {"rel_l2", "bound", "clearance", "row"}; "every": compare_every_row()};
  //              or {"status": "skipped", "reason"}
  //   where it passed: "time_us": {"burst_cold", "burst_warm", "sustained_cold"}, "filter_us", "call_us": {"stream",
  //     "graph"} of both together, each {"median", "q1", "q3", "samples", "launches": timed together for a sample,
  //     "clock_mhz"}; warm where a set does not exceed the L2 several times over anyway;
  //     "parts_us": of a plan of several parts (parts.hpp) each alone, likewise
  //   "ratios": {"copy", "kernel": {"median", "q1", "q3"} of its bursts over theirs in the same turns}
  //   "sets": of inputs and outputs that launches rotate among, together several times the L2 (warm: one)
  //   "work": {"bytes", "useful_flops"}, "floor": {"us": bytes over the copy rate, "with_spectrum_us": of a kernel,
  //     with those of the spectrum, "copy_bytes_per_s"}
  //   "memory": {"arrays_bytes": of one set, "kept_bytes": by the method beside them}
  //   "load": {"sm_clock_mhz", "power_watts", "temperature_celsius"} as NVML has it under sustained load
  //   "notes": of what may have disturbed the times
  // Bursts of the methods take turns, as far as the device has memory for all; the rest is timed one by one.
  virtual std::vector<Json> rows(const Case& asked, const std::vector<const Method*>& methods) = 0;
};

// Throws in a build without CUDA.
std::unique_ptr<Bencher> make_bencher(const Device& device, const Protocol& protocol);

}  // namespace danaus
