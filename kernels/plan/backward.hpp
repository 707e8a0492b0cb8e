// The backward pass as a program: convolutions with the conjugate spectrum, and the correlation of u with dy.
#pragma once

#include "kernels/plan/program.hpp"
#include "reference/step/step.hpp"

namespace danaus {

// With w and v the gates: du = w * c(v dy), dw = u * c(v dy), dv = dy * conv(w u), where c is the convolution with the
// conjugate spectrum; dk is the correlation of w u with v dy, summed over the batch. Where a kernel makes them all
// (kernel_of_all_gradients()), they are one launch and the inverse transform of dk's sums; otherwise each is its own.
Program make_backward_program(const Case& asked, const Backward& backward, const Device& device);
// The forward convolution before it, of the same transform of the filters.
Program make_step_program(const Case& asked, const TrainingStep& step, const Device& device);

}  // namespace danaus
