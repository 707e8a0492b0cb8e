// What the rounding errors of a spectral layer are relative to.
#pragma once

#include "reference/spectral/layer.hpp"

namespace danaus {

// The L2 norm of y were nothing cancelled: of every kept frequency the root of sum |w|^2 |u|^2 over the channels, with
// u spread evenly over the spectrum. A few frequencies of few channels may have much less of it.
double summed(const Spectral& problem, const SpectralInputs& inputs);

// The same of dw: the root of the sum over batch and frequencies of |F u|^2 |F dy|^2.
double summed_to_weights(const Spectral& problem, std::span<const double> u, std::span<const double> dy);

}  // namespace danaus
