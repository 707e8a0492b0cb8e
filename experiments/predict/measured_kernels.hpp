// The kernels' rows in result files of danaus bench.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/cli/environment.hpp"
#include "kernels/plan/registry.hpp"
#include "model/profile.hpp"

namespace danaus {

struct MeasuredKernel {
  std::string token;   // the case as the row has it
  std::string kernel;  // as the row names it
  Case counted;        // that a plan computes by what was timed
  // Of a convolution in one launch, with fold, N and factors of its kernel; null in all else.
  Convolution problem;
  const Variant* variant;
  bool asked_by_factors;  // the case names them
  double us;              // median of bursts
  std::optional<double> clock_mhz;
  std::optional<double> filter_us, call_us;  // of the filter's transform, and of both from a CUDA graph
  bool stale;                                // its sources have changed since
  std::vector<std::string> notes;
};

struct MeasuredKernels {
  std::vector<MeasuredKernel> kernels;
  std::string device;
  std::size_t without_kernel = 0;   // rows of kernels that this build has not
  std::size_t of_other_kernel = 0;  // rows of kernels that a plan no longer chooses, whatever the case says
};

// Rows of the method kernel that passed and were timed on the profile's device; of several rows of a case the last. A
// row is of the kernel that it names, whatever a plan would choose today. Throws where a file cannot be read, a line is
// no row of danaus bench or a field of it is damaged or lacks, rows are of another device, or there are none.
MeasuredKernels read_measured_kernels(const std::vector<std::string>& paths, const HardwareProfile& profile);

// Medians in us by case, of the same rows of convolutions, whatever kernels and however many launches they are of.
// Throws likewise.
std::map<std::string, double> read_measured_times(const std::vector<std::string>& paths,
                                                  const HardwareProfile& profile);

}  // namespace danaus
