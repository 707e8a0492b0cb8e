#include "experiments/count/hardware.hpp"

namespace danaus {

void launch_once(const Convolution& problem, const Device&) {
  fail("count: ", token(problem), " is to be launched, but this build has no CUDA");
}

}  // namespace danaus
