#include "reference/convolution/conditioning.hpp"

#include <cmath>
#include <span>

#include "reference/convolution/convolve.hpp"
#include "reference/convolution/rows.hpp"

namespace danaus {
namespace {

double square(std::span<const double> values) {
  double sum = 0;
  for (double value : values) sum += value * value;
  return sum;
}

}  // namespace

double summed(const Convolution& p, const Inputs& inputs) {
  check_inputs(p, inputs);
  const std::vector<double> masked = p.mask.empty() ? std::vector<double>() : masked_filters(p, inputs.k);
  const std::int64_t n = std::ssize(masked) / p.channels;
  std::vector<double> filters(p.channels);  // squares
  for (std::int64_t h = 0; h < p.channels; ++h)
    filters[h] = n > 0 ? square(std::span(masked).subspan(h * n, n))
                       : square(effective_filter(p, std::span(inputs.k).subspan(h * p.filter_length, p.filter_length)));
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
