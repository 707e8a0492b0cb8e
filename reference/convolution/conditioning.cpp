#include "reference/convolution/conditioning.hpp"

#include <cmath>
#include <span>

#include "reference/convolution/convolve.hpp"
#include "reference/convolution/mask.hpp"
#include "reference/convolution/rows.hpp"
#include "reference/dft.hpp"

namespace danaus {
namespace {

double square(std::span<const double> values) {
  double sum = 0;
  for (double value : values) sum += value * value;
  return sum;
}

// What a mask, by its weights of half a spectrum, leaves of a filter row.
std::vector<double> masked(const Convolution& p, std::span<const double> weights, std::vector<double> filter) {
  const std::int64_t n = real_fft_size(p);
  filter.resize(n);
  std::vector<Complex> spectrum = real_dft(filter);
  for (std::size_t f = 0; f < weights.size(); ++f) spectrum[f] *= weights[f];
  return inverse_real_dft(spectrum, n);
}

}  // namespace

double summed(const Convolution& p, const Inputs& inputs) {
  check_inputs(p, inputs);
  const std::vector<double> weights = real_mask_weights(p);
  std::vector<double> filters(p.channels);  // squares
  for (std::int64_t h = 0; h < p.channels; ++h) {
    std::vector<double> filter = effective_filter(p, std::span(inputs.k).subspan(h * p.filter_length, p.filter_length));
    filters[h] = square(weights.empty() ? filter : masked(p, weights, std::move(filter)));
  }
  double all = 0;
  for (std::int64_t row = 0; row < p.batch * p.channels; ++row) {
    const auto part = [&](const std::vector<double>& values) {
      return std::span(values).subspan(row * p.length, p.length);
    };
    double input = 0;
    for (std::int64_t n = 0; n < p.length; ++n)
      input += std::pow(part(inputs.u)[n] * (p.pregate ? part(inputs.pregate)[n] : 1), 2);
    all += filters[row % p.channels] * input *
           (p.postgate ? square(part(inputs.postgate)) / static_cast<double>(p.length) : 1);
  }
  return std::sqrt(all);
}

}  // namespace danaus
