// How far a finished convolution of a user's data is from the truth.
#pragma once

#include <string>

#include "experiments/cli/environment.hpp"
#include "reference/convolution/convolve.hpp"

namespace danaus {

struct StatedError {
  Json verify;            // of the result row (schema convolve)
  std::string error;      // in words
  std::string against;    // what it was compared with, in words
  bool plausible = true;  // no more than double arithmetic explains
};

// Of y [B, H, L] as computed by `method` and as written in the case's type: against FFTW where the direct sum computed
// it, with a mask against FFTW or the Monarch factors, else against the direct sum over as many samples as time allows.
// Values that are not finite have no error.
StatedError stated_error(const Convolution& problem, const Inputs& inputs, Algorithm method,
                         const std::vector<double>& y, bool nonfinite);

}  // namespace danaus
