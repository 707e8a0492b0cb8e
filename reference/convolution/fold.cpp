#include "reference/convolution/fold.hpp"

#include "reference/convolution/convolution.hpp"

namespace danaus {
namespace {

void check_fits(std::string_view fold, std::span<const double> x, std::int64_t n) {
  if (std::ssize(x) > n) fail("fold ", fold, ": a row of ", x.size(), " samples, must be at most N=", n);
}

Complex right_angle_weight(std::int64_t j, std::int64_t n) { return std::conj(root_of_unity(j, 4 * n)); }

}  // namespace

std::vector<Complex> fold_pair(std::span<const double> first, std::span<const double> second, std::int64_t n) {
  check_fits("pair", first, n);
  check_fits("pair", second, n);
  std::vector<Complex> z(n);
  for (std::size_t j = 0; j < first.size(); ++j) z[j].real(first[j]);
  for (std::size_t j = 0; j < second.size(); ++j) z[j].imag(second[j]);
  return z;
}

void unfold_pair(std::span<const Complex> z, std::span<double> first, std::span<double> second) {
  for (std::size_t j = 0; j < first.size(); ++j) first[j] = z[j].real();
  for (std::size_t j = 0; j < second.size(); ++j) second[j] = z[j].imag();
}

std::vector<Complex> fold_half(std::span<const double> x, std::int64_t n) {
  check_fits("half", x, n);
  if (n % 2 != 0) fail("fold half: N=", n, ", must be even");
  std::vector<Complex> z(n / 2);
  for (std::size_t j = 0; j < x.size(); ++j) j % 2 == 0 ? z[j / 2].real(x[j]) : z[j / 2].imag(x[j]);
  return z;
}

void unfold_half(std::span<const Complex> z, std::span<double> x) {
  for (std::size_t j = 0; j < x.size(); ++j) x[j] = j % 2 == 0 ? z[j / 2].real() : z[j / 2].imag();
}

std::vector<Complex> half_to_spectrum(std::span<const Complex> z) {
  const std::int64_t half = std::ssize(z);
  std::vector<Complex> spectrum(half + 1);
  for (std::int64_t k = 0; k <= half; ++k) {
    const Complex here = z[k % half], mirror = std::conj(z[(half - k) % half]);
    const Complex even = (here + mirror) / 2.0, odd = (here - mirror) / Complex(0, 2);
    spectrum[k] = even + odd * root_of_unity(k, 2 * half);
  }
  return spectrum;
}

std::vector<Complex> spectrum_to_half(std::span<const Complex> spectrum) {
  const std::int64_t half = std::ssize(spectrum) - 1;
  std::vector<Complex> z(half);
  for (std::int64_t k = 0; k < half; ++k) {
    const Complex here = spectrum[k], mirror = std::conj(spectrum[half - k]);
    const Complex even = (here + mirror) / 2.0, odd = (here - mirror) / 2.0 * root_of_unity(-k, 2 * half);
    z[k] = even + Complex(0, 1) * odd;
  }
  return z;
}

std::vector<Complex> half_product(std::span<const Complex> u, std::span<const Complex> k) {
  std::vector<Complex> product = half_to_spectrum(u);
  const std::vector<Complex> filter = half_to_spectrum(k);
  for (std::size_t i = 0; i < product.size(); ++i) product[i] *= filter[i];
  return spectrum_to_half(product);
}

std::vector<Complex> fold_right_angle(std::span<const double> x, std::int64_t n) {
  check_fits("right_angle", x, n);
  std::vector<Complex> z(n);
  for (std::int64_t j = 0; j < std::ssize(x); ++j) z[j] = x[j] * right_angle_weight(j, n);
  return z;
}

void unfold_right_angle(std::span<const Complex> z, std::span<double> lo, std::span<double> hi) {
  for (std::int64_t j = 0; j < std::ssize(z); ++j) {
    const Complex value = z[j] * std::conj(right_angle_weight(j, std::ssize(z)));
    if (j < std::ssize(lo)) lo[j] = value.real();
    if (j < std::ssize(hi)) hi[j] = value.imag();
  }
}

}  // namespace danaus
