// The gradient of a convolution's filters as a step of a program: rows correlated and summed over the batch, and the
// inverse transform of the sums.
#pragma once

#include <memory>
#include <span>

#include "kernels/families/correlator.hpp"
#include "kernels/plan/program.hpp"

namespace danaus {

// Of all families that export them, by N.
std::span<const std::unique_ptr<const Correlator>> correlators();

// Numbers of the arrays of a case; -1: there is none.
struct CorrelationArrays {
  int u, pregate, dy, postgate, dk;
};

// How often u and dy are rounded on their way to a sum.
struct CorrelationStep {
  std::unique_ptr<Step> step;
  int roundings;
};
// dk of the convolution `problem`. Throws where no kernel has room for it.
CorrelationStep make_correlation(const Case& asked, const Convolution& problem, const CorrelationArrays& arrays,
                                 const Device& device);

}  // namespace danaus
