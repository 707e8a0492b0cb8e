// How a real row is put into a complex FFT and taken out again: fold -> transform -> product -> inverse -> unfold.
//
//   fold         points   product of spectra              comes out
//   pair         N        U K                             the cyclic convolutions of two rows
//   half         N/2      half_product(Z, Zk)             the cyclic convolution of one row
//   right_angle  N        U K, both weighted              the linear convolution of one row, 2N samples of it
//
// A row shorter than the transform is filled with zeros. The plain fold is a pair whose second row is missing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/dft.hpp"

namespace danaus {

// Two rows of at most n samples as first + i second; `second` may be empty. A real filter acts on both parts alike, so
// the parts of the result are the two answers. A filter whose spectrum is not its own mirror image (a literal mask)
// would mix them: then each row goes alone, and its answer is the real part.
std::vector<Complex> fold_pair(std::span<const double> first, std::span<const double> second, std::int64_t n);
void unfold_pair(std::span<const Complex> z, std::span<double> first, std::span<double> second);

// One row of at most n samples (n even) as z[j] = x[2j] + i x[2j + 1], n/2 points (Fu et al. 2023, A.1).
std::vector<Complex> fold_half(std::span<const double> x, std::int64_t n);
void unfold_half(std::span<const Complex> z, std::span<double> x);

// Between the spectrum Z [N/2] of a row so folded and its own spectrum X[0..N/2], N/2 + 1 frequencies:
//   X[k] = E + O W^k,   E = (Z[k] + conj Z[N/2 - k]) / 2,   O = (Z[k] - conj Z[N/2 - k]) / 2i,   W = exp(-2 pi i / N)
//   Z[k] = E + i O,     E = (X[k] + conj X[N/2 - k]) / 2,   O = (X[k] - conj X[N/2 - k]) / 2 W^-k
// The paper prints -i.../2i in the first line and W^k for W^-k in the second; this is what inverts.
std::vector<Complex> half_to_spectrum(std::span<const Complex> z_spectrum);
std::vector<Complex> spectrum_to_half(std::span<const Complex> spectrum);

// Spectrum of the folded convolution from the spectra of two folded rows, [N/2] each.
std::vector<Complex> half_product(std::span<const Complex> u, std::span<const Complex> k);

// One row of at most n samples as x[j] exp(i pi j / 2n). A turn by n samples is then a factor i, so the cyclic
// convolution of two rows so weighted, with the weights taken off, is lo + i hi: samples 0..n-1 and n..2n-1 of the
// linear convolution.
std::vector<Complex> fold_right_angle(std::span<const double> x, std::int64_t n);
void unfold_right_angle(std::span<const Complex> z, std::span<double> lo, std::span<double> hi);

}  // namespace danaus
