// What the fused kernels are measured against. Made for the device that is current; each throws std::invalid_argument
// where the device has too little memory left.
#pragma once

#include <memory>

#include "experiments/bench/contenders.hpp"

namespace danaus {

std::unique_ptr<Runner> make_copy(const Convolution& problem);
std::unique_ptr<Runner> make_cufft_f32(const Convolution& problem);
std::unique_ptr<Runner> make_cufft_pairs(const Convolution& problem);

}  // namespace danaus
