#include <cmath>

#include "experiments/calibrate/calibration.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus {
namespace {

// Dense fp16 flops a clock of an SM's matrix units, by compute capability, from NVIDIA's white papers.
double matrix_flops(int sm) {
  switch (sm) {
    case 80: return 2048;
    case 86:
    case 87:
    case 89: return 1024;
    case 90: return 4096;
    case 100:
    case 103: return 8192;
    case 120: return 1024;
    default:
      fail("calibrate: nothing is known of the matrix units of compute capability ", sm / 10, '.', sm % 10,
           "; add it to experiments/calibrate/limits.cpp");
  }
}

}  // namespace

Ceiling ceiling_of(Limit limit, double units, const DeviceLimits& device, double clock_mhz) {
  const double clocks = 1e6 * clock_mhz * device.multiprocessors;
  const auto a_clock = [&](double each, const std::string& of) {
    return Ceiling{each * clocks, text(each, ' ', of, " a clock an SM x ", device.multiprocessors, " SMs x ",
                                       std::lround(clock_mhz), " MHz")};
  };
  switch (limit) {
    case Limit::shared_bytes: return a_clock(128, "bytes");
    case Limit::l2_bytes: return a_clock(64, "bytes");
    case Limit::instructions:
      return a_clock(128 * units, units == 1 ? "operations" : "flops");  // a warp of each scheduler
    case Limit::matrix_flops: return a_clock(matrix_flops(device.sm), "flops");
  }
  fail("calibrate: limit ", int(limit), " is unknown");
}

void require_possible(const Measurement& m) {
  if (!std::isfinite(m.value) || !(m.value > 0))
    throw ImpossibleNumber(text("calibrate: ", m.key, ": ", m.value, ' ', m.unit, ", must be a positive number"));
  if (m.ceiling && m.value > *m.ceiling)
    throw ImpossibleNumber(text("calibrate: ", m.key, ": ", m.value, ' ', m.unit, " is above ", *m.ceiling, " (",
                                m.ceiling_source, "): a mistake of the measurement"));
}

}  // namespace danaus
