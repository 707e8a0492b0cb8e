#include "experiments/count/compiled.hpp"
#include "experiments/count/hardware.hpp"

namespace danaus {

void launch_once(const Convolution& problem, const Device&) {
  fail("count: ", token(problem), " is to be launched, but this build has no CUDA");
}

std::vector<Json> report_of_compiler(const Device& device) {
  fail("count: what the compiler says is asked of ", device.name, ", but this build has no CUDA");
}

}  // namespace danaus
