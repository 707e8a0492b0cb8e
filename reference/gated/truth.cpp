#include "reference/truth.hpp"

#include <cmath>
#include <random>

#include "reference/convolution/convolve.hpp"
#include "reference/convolution/terms.hpp"
#include "reference/gated/filtered.hpp"
#include "reference/half.hpp"

namespace danaus {
namespace {

Values make_gated_values(const Case& asked, std::uint64_t seed) {
  const GatedConvolution& p = *asked.as<GatedConvolution>();
  DataSpec spec;
  spec.seed = seed;
  Values values = values_of(make_inputs(p.conv, spec));
  std::mt19937_64 random(data_seed(p.conv, spec) + 1);
  std::normal_distribution<double> normal;
  for (const Array& array : asked.arrays()) {
    if (array.name != "taps" && array.name != "bias" && array.name != "skip") continue;
    const double deviation = array.name == "taps" ? 1 / std::sqrt(static_cast<double>(p.taps)) : 0.25;
    std::vector<double> numbers(array.size());
    for (double& number : numbers) number = round_to(array.dtype, deviation * normal(random));
    values.emplace(array.name, std::move(numbers));
  }
  return values;
}

Values gated_outputs(const Case& asked, const Values& values) {
  const GatedConvolution& p = *asked.as<GatedConvolution>();
  return {{"y", convolve(p.conv, filtered(p, values), Algorithm::fftw)}};
}

// X * taps[part] + bias[part], row by row.
std::vector<double> short_filtered(const GatedConvolution& p, const Values& values, const std::vector<double>& rows,
                                   std::int64_t part, bool summed) {
  const std::vector<double>&taps = values.at("taps"), none, &bias = p.bias ? values.at("bias") : none;
  const std::int64_t channels = p.conv.channels, length = p.conv.length;
  std::vector<double> filtered(rows.size());
  for (std::int64_t row = 0; row < p.conv.batch * channels; ++row) {
    const std::int64_t filter = part * channels + row % channels;
    for (std::int64_t n = 0; n < length; ++n) {
      const double offset = p.bias ? bias[filter] : 0;
      double sum = offset, square = offset * offset;
      for (std::int64_t t = 0; t <= std::min(n, p.taps - 1); ++t) {
        const double product = taps[filter * p.taps + t] * rows[row * length + n - t];
        sum += product, square += product * product;
      }
      filtered[row * length + n] = summed ? std::copysign(std::max(std::abs(sum), std::sqrt(square)), sum) : sum;
    }
  }
  return filtered;
}

}  // namespace

Inputs filtered(const GatedConvolution& p, const Values& values, bool summed) {
  Inputs inputs = inputs_of(values);
  check_inputs(p.conv, inputs);
  std::int64_t part = 0;
  for (std::vector<double>* rows : {&inputs.u, &inputs.pregate, &inputs.postgate})
    if (p.taps > 0 && !rows->empty()) *rows = short_filtered(p, values, *rows, part++, summed);
  if (p.skip)
    for (std::int64_t h = 0; h < p.conv.channels; ++h) inputs.k[h * p.conv.filter_length] += values.at("skip")[h];
  return inputs;
}

Truth gated_truth() { return {"gatedconv", &make_gated_values, &gated_outputs}; }

}  // namespace danaus
