// A user's own arrays as the operands of a convolution.
#pragma once

#include <string>
#include <vector>

#include "experiments/cli/console.hpp"
#include "experiments/io/mask_file.hpp"
#include "experiments/io/signal_file.hpp"
#include "reference/convolution/convolve.hpp"
#include "reference/convolution/data.hpp"

namespace danaus {

struct OperandFiles {
  std::string u, k, pregate, postgate, mask;  // the last three empty where there are none
};

struct Operands {
  Signal u, k;
  std::vector<std::int64_t> shape;  // of y
  Convolution problem;              // with the mask; not valid where y is empty
  Inputs inputs;                    // u and gates for every row of y, the filter for every channel
  bool nonfinite = false;           // any of them has NaN or infinite values

  bool is_empty() const { return problem.batch == 0 || problem.channels == 0; }
};

// "FILE  f32 [2, 100]  48000 Hz"
std::string description(const std::string& path, const Signal& signal);

// u is [L], [H, L] or [B, H, L], k is [K], [H, K] or [1, H, K]. Where one of them has one channel, it serves all of the
// other's. Gates broadcast to the shape of y as in NumPy. Without channels or rows y is empty.
//
// Values that are not finite need `allow_nonfinite`; console.err then says how far `method` carries them. Throws
// std::invalid_argument, naming file and rule, where files do not go together or need more memory than there is.
Operands read_operands(const OperandFiles& files, Mode mode, Algorithm method, bool allow_nonfinite, Console& console);

}  // namespace danaus
