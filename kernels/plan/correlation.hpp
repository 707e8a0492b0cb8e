// The gradient of a convolution's filters as a step of a program: rows correlated and summed over the batch, and the
// inverse transform of the sums.
#pragma once

#include <memory>
#include <span>

#include "kernels/families/correlator.hpp"
#include "kernels/plan/arrays.hpp"
#include "kernels/plan/program.hpp"

namespace danaus {

// Of all families that export them, by N.
std::span<const std::unique_ptr<const Correlator>> correlators();

// Numbers of the arrays of a case; -1: there is none.
struct CorrelationArrays {
  int u, pregate, dy, postgate, dk;
};

// dk of the convolution `problem`. Throws where no kernel has room for it.
std::unique_ptr<Step> make_correlation(const Case& asked, const Convolution& problem, const CorrelationArrays& arrays,
                                       const Device& device);

// The kernel that makes all gradients of the problem at once, dk's sums and those of rows, where `variant` convolves;
// null where each is a launch of its own. It is a block's alone: no outer passes, no clusters, no pieces of rows. What
// names factors gets their kernels.
const Correlator* kernel_of_all_gradients(const Convolution& problem, const Variant& variant, const Device& device);

// Those of rows: `dpregate` and `dpostgate` are -1 where there is no such gate.
struct RowGradients {
  int du, dpregate, dpostgate;
};
// By that kernel, with the spectrum that stands at `place` for its convolution().
std::unique_ptr<Step> make_all_gradients(const Case& asked, const Convolution& problem, const CorrelationArrays& arrays,
                                         const RowGradients& rows, const SpectrumPlace& place, const Correlator& kernel,
                                         const Device& device);

// How often samples are rounded on their way to a row's gradient, where `variant` convolves, and to dk's sums.
struct RoundingsOfGradients {
  int of_rows, of_sums;
};
RoundingsOfGradients roundings_of_gradients(const Convolution& problem, const Variant& variant, const Device& device);

}  // namespace danaus
