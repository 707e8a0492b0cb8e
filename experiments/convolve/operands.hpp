// A user's own arrays as the operands of a convolution.
#pragma once

#include <string>

#include "experiments/cli/console.hpp"
#include "experiments/io/signal_file.hpp"
#include "reference/convolution/convolution.hpp"
#include "reference/convolution/data.hpp"

namespace danaus {

struct OperandFiles {
  std::string u, k, pregate, postgate;  // gates empty where there are none
};

struct Operands {
  Signal u, k;
  Convolution problem;
  Inputs inputs;           // the filter for every channel
  bool nonfinite = false;  // any of them has NaN or infinite values
};

// "FILE  f32 [2, 100]  48000 Hz"
std::string description(const std::string& path, const Signal& signal);

// u and gates are [L], [H, L] or [B, H, L] and all alike, k is [K] or [1, K], the same filter for every channel, or
// [H, K]. Values that are not finite need `allow_nonfinite` and are said on console.err. Throws std::invalid_argument,
// naming file and rule, where files do not go together or need more memory than there is.
Operands read_operands(const OperandFiles& files, Mode mode, bool allow_nonfinite, Console& console);

}  // namespace danaus
