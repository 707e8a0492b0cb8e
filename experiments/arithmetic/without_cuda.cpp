#include "experiments/arithmetic/instructions.hpp"
#include "reference/basics.hpp"

namespace danaus {

std::vector<std::uint32_t> run_on_gpu(std::size_t, const OperandWords&, const Device& device) {
  fail("arithmetic: ", device.name, " is asked for, but this build has no CUDA");
}

}  // namespace danaus
