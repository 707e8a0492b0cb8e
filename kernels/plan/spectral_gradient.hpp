// The gradient of a spectral layer's weights as a step of a program.
#pragma once

#include <memory>
#include <string>

#include "kernels/plan/program.hpp"
#include "reference/spectral/spectral.hpp"

namespace danaus::spectral {

// Numbers of the arrays of a case.
struct GradientArrays {
  int u, dy, dw;
};
// dw of the layer. Throws where no kernel has room for it.
std::unique_ptr<Step> make_gradient_of_weights(const Spectral& layer, const GradientArrays& arrays,
                                               const Device& device, const std::string& description);

}  // namespace danaus::spectral
