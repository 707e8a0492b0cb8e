// The discrete Fourier transform in double: its matrix, and FFTW.
//
//   X[k] = sum_n x[n] w^(n k),  w = exp(-2 pi i / N), unnormalised;  the inverse has conj(w) and divides by N
#pragma once

#include <Eigen/Core>
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

namespace danaus {

using Complex = std::complex<double>;

// exp(-2 pi i numerator / denominator). The phase is reduced in integers to an eighth of a turn, so the result is good
// to the last bit or two however large both are (denominator below 2^59).
Complex root_of_unity(std::int64_t numerator, std::int64_t denominator);

// The DFT as an n x n matrix.
Eigen::MatrixXcd dense_dft(int n);

// FFTW, any size from 1. Callable from several threads at once.
std::vector<Complex> dft(std::span<const Complex> x);
std::vector<Complex> inverse_dft(std::span<const Complex> spectrum);

// The same for real x [n]: frequencies 0 to n/2, n/2 + 1 of them; the inverse needs n, and takes the rest of the
// spectrum to be the mirror image.
std::vector<Complex> real_dft(std::span<const double> x);
std::vector<double> inverse_real_dft(std::span<const Complex> half_spectrum, std::int64_t n);

// Smallest size from n on whose prime factors are 2, 3, 5 and 7.
std::int64_t next_smooth(std::int64_t n);

}  // namespace danaus
