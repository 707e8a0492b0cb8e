// Measures what a GPU can do, each number by a kernel that does nothing else, and refuses what it cannot.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "experiments/cli/environment.hpp"
#include "kernels/plan/machine.hpp"

namespace danaus {

// A number of a hardware profile (model/profile.hpp), as measured.
struct Measurement {
  std::string key, unit, source;
  double value = 0;
  double spread = 0;  // half the distance of the quartiles over the median
  std::optional<double> clock_mhz = {};
  std::optional<double> ceiling = {};
  std::string ceiling_source = {};
};

// What limits a device, of what it says of itself and of its architecture.
struct DeviceLimits {
  int sm = 0;
  int multiprocessors = 0;
  int block_bytes = 0;
  double clock_mhz = 0;        // the highest
  double hbm_bytes_per_s = 0;  // memory clock, two transfers a clock, bus width
  double l2_bytes = 0;
};

// What an SM can do in a clock at most.
enum class Limit { shared_bytes, l2_bytes, instructions, matrix_flops };

// The ceiling of a rate that is counted in `units` of the limit (flops of one thread's instruction, say 2 of FFMA), at
// the clock that it ran at; and where it comes from. Throws where nothing is known of the architecture.
struct Ceiling {
  double per_second;
  std::string source;
};
Ceiling ceiling_of(Limit limit, double units, const DeviceLimits& device, double clock_mhz);

struct ImpossibleNumber : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws ImpossibleNumber, by name, unless the value is a positive number that its ceiling allows.
void require_possible(const Measurement& measurement);

struct Calibration {
  std::string device;  // in words
  std::vector<Measurement> measurements;
  std::vector<std::string> notes;  // another process, a clock that was held back
};

// Takes about half a minute. `say` is told what comes next. In builds with CUDA.
Calibration calibrate(const Device& device, const std::function<void(const std::string& what)>& say);

// The fields of a result row: "device", "number", "value", "unit", "spread", "clock_mhz", "ceiling", "measured_by".
Json row_of(const Measurement& measurement, const Device& device);

// The text of a profile file, which parse_profile() has accepted; `date` as 2026-11-21.
std::string profile_text(const std::string& name, const std::string& date, const Calibration& calibration);

}  // namespace danaus
