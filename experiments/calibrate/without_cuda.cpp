#include "experiments/calibrate/calibration.hpp"
#include "reference/convolution/convolution.hpp"

namespace danaus {

Calibration calibrate(const Device& device, const std::function<void(const std::string&)>&) {
  fail("calibrate: ", device.name, " is asked for, but this build has no CUDA");
}

}  // namespace danaus
