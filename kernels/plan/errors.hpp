// What a plan throws beside std::invalid_argument, which is for what the caller gave.
#pragma once

#include <stdexcept>

namespace danaus {

struct NoDevice : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};
struct OutOfMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// What the CUDA runtime or driver refused.
struct CudaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace danaus
