// Spectral layers of neural operators: in one launch, or in passes there, through the product over channels and back;
// another launch prepares their weights. Their gradients: the adjoint layer, and sums of products of spectra.
#pragma once

#include "kernels/plan/program.hpp"
#include "reference/spectral_gradient/spectral_gradient.hpp"

namespace danaus {

// Throw where no kernel computes the case on the device: of f64 samples, of a length beyond 16 to 1024, of more than
// 256 channels.
Program make_spectral_program(const Case& asked, const Device& device);
Program make_spectral_gradient_program(const Case& asked, const Device& device);

}  // namespace danaus
