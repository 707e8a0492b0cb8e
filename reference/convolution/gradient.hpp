// Gradients of sum(y * dy) with respect to everything that y depends on, in double.
#pragma once

#include <span>
#include <vector>

#include "reference/convolution/convolution.hpp"
#include "reference/convolution/convolve.hpp"
#include "reference/convolution/data.hpp"

namespace danaus {

struct Gradients {
  std::vector<double> du;                   // [B, H, L]: dy gated and correlated with the filter
  std::vector<double> dk;                   // [H, K]: u correlated with dy, summed over the batch
  std::vector<double> dpregate, dpostgate;  // [B, H, L]; empty without the gate
};

// dy [B, H, L]. By FFTs, or term by term as a convolution is defined (Algorithm::direct), which knows no masks. Throws
// when an array does not have the size that the case says.
Gradients gradients(const Convolution& problem, const Inputs& inputs, std::span<const double> dy,
                    Algorithm method = Algorithm::fftw);

// What judges gradients: the definition, where that takes moments and there is no mask, else FFTs.
Algorithm truth_of_gradients(const Convolution& problem);

}  // namespace danaus
