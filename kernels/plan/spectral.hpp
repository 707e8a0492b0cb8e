// Spectral layers of neural operators, in one launch; another one prepares their weights.
#pragma once

#include "kernels/plan/program.hpp"
#include "reference/spectral/spectral.hpp"

namespace danaus {

// Throws where no kernel computes the case on the device: of two axes, of f64 samples, of a length beyond 16 to 1024,
// of more than 256 channels, or where the kept spectra of an item of the batch do not fit into a block's shared memory.
Program make_spectral_program(const Case& asked, const Device& device);

}  // namespace danaus
