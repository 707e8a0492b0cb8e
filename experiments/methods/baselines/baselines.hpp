// What the kernels are measured against. Made for the device that is current; each throws std::invalid_argument where
// the device has too little memory left.
#pragma once

#include <memory>

#include "experiments/methods/runner.hpp"
#include "reference/spectral/spectral.hpp"

namespace danaus {

std::unique_ptr<Runner> make_copy(const Case& asked);
// Of convolutions, their gradients and training steps.
std::unique_ptr<Runner> make_cufft_f32(const Case& asked);
std::unique_ptr<Runner> make_cufft_pairs(const Case& asked);
// Throws too where there is no cuBLAS.
std::unique_ptr<Runner> make_cufft_cublas(const Spectral& problem, bool tf32);

}  // namespace danaus
