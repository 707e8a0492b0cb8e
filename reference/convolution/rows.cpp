#include "reference/convolution/rows.hpp"

#include <algorithm>

#include "reference/half.hpp"

namespace danaus {

std::vector<double> effective_filter(const Convolution& p, std::span<const double> k) {
  const std::int64_t length = std::min(p.filter_length, p.length);
  std::vector<double> filter(k.begin(), k.begin() + length);
  if (p.mode == Mode::circular)
    for (std::int64_t m = length; m < p.filter_length; ++m) filter[m % p.length] += k[m];
  return filter;
}

void to_length(Mode mode, std::span<const double> results, std::span<double> y) {
  const std::size_t count = mode == Mode::causal ? std::min(y.size(), results.size()) : results.size();
  std::fill(y.begin(), y.end(), 0.0);
  for (std::size_t i = 0; i < count; ++i) y[i % y.size()] += results[i];
}

bool shares_transforms(const Convolution& planned) {
  const bool complex_filter = !planned.mask.empty() && planned.mask.reading == MaskReading::literal;
  return planned.fold == Fold::pair && !complex_filter;
}

std::vector<double> convolve_rows(const Convolution& p, const Inputs& inputs, RowMethod& method, Dtype stored) {
  std::vector<double> x = inputs.u, y(inputs.u.size());
  for (std::size_t i = 0; i < inputs.pregate.size(); ++i) x[i] = round_to(stored, x[i] * inputs.pregate[i]);
  const std::int64_t step = method.takes_pairs() ? 2 : 1;
  for (std::int64_t channel = 0; channel < p.channels; ++channel) {
    method.set_filter(effective_filter(p, std::span(inputs.k).subspan(channel * p.filter_length, p.filter_length)));
    const auto row = [&](std::vector<double>& rows, std::int64_t batch) {
      if (batch >= p.batch) return std::span<double>();
      return std::span(rows).subspan((batch * p.channels + channel) * p.length, p.length);
    };
    for (std::int64_t batch = 0; batch < p.batch; batch += step) {
      const std::int64_t partner = step == 2 ? batch + 1 : p.batch;
      method.apply(row(x, batch), row(x, partner), row(y, batch), row(y, partner));
    }
  }
  for (std::size_t i = 0; i < inputs.postgate.size(); ++i) y[i] = round_to(stored, y[i] * inputs.postgate[i]);
  return y;
}

}  // namespace danaus
