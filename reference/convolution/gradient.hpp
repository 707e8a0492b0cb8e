// Gradients of sum(y * dy) with respect to everything that y depends on, in double.
#pragma once

#include <span>
#include <vector>

#include "reference/convolution/convolution.hpp"
#include "reference/convolution/data.hpp"

namespace danaus {

struct Gradients {
  std::vector<double> du;                   // [B, H, L]: dy gated and correlated with the filter
  std::vector<double> dk;                   // [H, K]: u correlated with dy, summed over the batch
  std::vector<double> dpregate, dpostgate;  // [B, H, L]; empty without the gate
};

// dy [B, H, L]. Throws when an array does not have the size that the case says.
Gradients gradients(const Convolution& problem, const Inputs& inputs, std::span<const double> dy);

}  // namespace danaus
