// The truth of a spectral layer in double, in two ways, and a model of what rounding costs it.
#pragma once

#include <span>
#include <vector>

#include "reference/spectral/spectral.hpp"
#include "reference/truth.hpp"

namespace danaus {

// Inputs of a case, of the shapes that arrays() says, already rounded to its types.
struct SpectralInputs {
  std::vector<double> u, w;
};

// Gaussian u; weights Gaussian, of variance 1 / C_in, so that a channel keeps its scale. They depend on token and seed.
SpectralInputs make_inputs(const Spectral& problem, std::uint64_t seed = 0);

// The arrays of a case.
Values values_of(SpectralInputs inputs);

// y by the matrices of the truncated transforms, [M, X] and [X, M]: neither what is cut off nor what is padded exists.
std::vector<double> layer_by_matrices(const Spectral& problem, const SpectralInputs& inputs);

// y by FFTW: whole transforms, frequencies that are not kept set to zero.
std::vector<double> layer_by_fftw(const Spectral& problem, const SpectralInputs& inputs);

// |F u|^2 at the kept frequencies, [B, C, M] of `channels` channels; F is not normalised.
std::vector<double> kept_squares(const Spectral& problem, std::int64_t channels, std::span<const double> samples);

// dw, the gradient of sum(y dy) with respect to the weights, by FFTW: at each kept frequency the sum over the batch of
// conj(F u) F dy / N, N the points of a row, twice where the frequency stands for its mirror image too. Of shared
// weights the sum over frequencies as well. Throws for an adjoint.
std::vector<double> gradient_of_weights(const Spectral& problem, std::span<const double> u, std::span<const double> dy);

// y as a kernel of the case's arithmetic would give it: by those matrices, with every operand of a product (samples,
// matrices, weights, spectra) rounded to 11 bits (TF32, f16), 8 (bf16) or 24 (f32) and sums in fp32; y rounded to its
// type.
std::vector<double> layer_rounded(const Spectral& problem, const SpectralInputs& inputs);

// Roundings of that: of samples, matrix and product on each axis there, of weights and product, of matrix and product
// on each axis back.
int roundings_of_layer(const Spectral& problem);

// Bound on the relative L2 error of such a computation, c u sqrt(R), where u and c are those of the arithmetic. y is
// taken to be of the size that its terms make likely, as it is of independent samples.
double bound_l2(const Spectral& problem);

// The same of dw, a product of two spectra, each of samples, matrix and product on each axis.
double bound_l2_of_gradient(const Spectral& problem);

// Of the truth itself.
double bound_of_layer_truth(const Spectral& problem);

}  // namespace danaus
