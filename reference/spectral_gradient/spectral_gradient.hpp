// What is asked: the gradients of one spectral layer.
#pragma once

#include "reference/spectral/spectral.hpp"

namespace danaus {

// Of sum(y dy) with respect to u and the weights, from u, the weights and dy alone: nothing that the layer made is
// needed. Shapes are those of the layer: dy of y, du of u, dw of w, fp32, summed over the batch. A complex gradient is
// that with respect to the real part, plus i times that with respect to the imaginary part.
struct SpectralGradient {
  Spectral forward;
  bool operator==(const SpectralGradient&) const = default;
};

// The layer's token with another first word: spectralgrad_f32_tf32_complex_b32_c32x64_l128_m64_shared. Adjoints have
// none.
std::string token(const SpectralGradient& asked);
SpectralGradient parse_spectral_gradient(std::string_view token);

// What reference/operation.hpp asks of every operation.
std::vector<Array> arrays(const SpectralGradient& asked);  // u, w, dy, du, dw
double useful_flops(const SpectralGradient& asked);

}  // namespace danaus
