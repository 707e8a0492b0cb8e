#include "reference/convolution/gradient.hpp"

#include <algorithm>

#include "reference/convolution/convolve.hpp"
#include "reference/convolution/mask.hpp"
#include "reference/convolution/rows.hpp"
#include "reference/dft.hpp"

namespace danaus {
namespace {

std::vector<Complex> spectrum_of(std::span<const double> x, std::int64_t n) {
  std::vector<double> padded(x.begin(), x.end());
  padded.resize(n);
  return real_dft(padded);
}

// The transpose of to_length(): from L back to n results.
std::vector<double> from_length(Mode mode, std::span<const double> y, std::int64_t n) {
  std::vector<double> results(n);
  const std::int64_t length = std::ssize(y), count = mode == Mode::causal ? std::min(length, n) : n;
  for (std::int64_t i = 0; i < count; ++i) results[i] = y[i % length];
  return results;
}

}  // namespace

Gradients gradients(const Convolution& p, const Inputs& inputs, std::span<const double> dy) {
  validate(p);
  check_inputs(p, inputs);
  if (dy.size() != inputs.u.size()) fail("gradients: dy has ", dy.size(), " samples, must have ", inputs.u.size());

  const std::int64_t n = real_fft_size(p);
  const std::vector<double> weights = real_mask_weights(p);
  const auto mask = [&](std::vector<Complex>& spectrum) {
    for (std::size_t f = 0; f < weights.size(); ++f) spectrum[f] *= weights[f];
  };

  Gradients result;
  result.du.resize(inputs.u.size());
  result.dk.resize(inputs.k.size());
  result.dpregate.resize(inputs.pregate.size());
  result.dpostgate.resize(inputs.postgate.size());
  std::vector<double> x(p.length), dz(p.length);  // gated input; gradient of the convolution's output
  for (std::int64_t channel = 0; channel < p.channels; ++channel) {
    const auto k = std::span(inputs.k).subspan(channel * p.filter_length, p.filter_length);
    std::vector<Complex> filter = spectrum_of(effective_filter(p, k), n);
    mask(filter);
    std::vector<Complex> dfilter(filter.size());
    for (std::int64_t batch = 0; batch < p.batch; ++batch) {
      const std::int64_t first = (batch * p.channels + channel) * p.length;
      for (std::int64_t i = 0; i < p.length; ++i) {
        x[i] = inputs.u[first + i] * (p.pregate ? inputs.pregate[first + i] : 1);
        dz[i] = dy[first + i] * (p.postgate ? inputs.postgate[first + i] : 1);
      }
      const std::vector<Complex> input = spectrum_of(x, n);
      const std::vector<Complex> doutput = real_dft(from_length(p.mode, dz, n));

      std::vector<Complex> dinput(filter.size());
      for (std::size_t f = 0; f < filter.size(); ++f) {
        dinput[f] = std::conj(filter[f]) * doutput[f];
        dfilter[f] += std::conj(input[f]) * doutput[f];
      }
      const std::vector<double> dx = inverse_real_dft(dinput, n);
      for (std::int64_t i = 0; i < p.length; ++i) {
        result.du[first + i] = dx[i] * (p.pregate ? inputs.pregate[first + i] : 1);
        if (p.pregate) result.dpregate[first + i] = dx[i] * inputs.u[first + i];
      }
      if (p.postgate) {
        std::vector<Complex> output = input;
        for (std::size_t f = 0; f < filter.size(); ++f) output[f] *= filter[f];
        std::vector<double> z(p.length);
        to_length(p.mode, inverse_real_dft(output, n), z);
        for (std::int64_t i = 0; i < p.length; ++i) result.dpostgate[first + i] = dy[first + i] * z[i];
      }
    }
    mask(dfilter);
    const std::vector<double> dk = inverse_real_dft(dfilter, n);
    // A causal filter's samples from L on touch nothing; a circular one's act where they wrap to.
    const std::int64_t touching = p.mode == Mode::causal ? std::min(p.filter_length, p.length) : p.filter_length;
    for (std::int64_t m = 0; m < touching; ++m) result.dk[channel * p.filter_length + m] = dk[m % p.length];
  }
  return result;
}

}  // namespace danaus
