#include "reference/spectral/conditioning.hpp"

#include <cmath>
#include <numeric>

namespace danaus {
namespace {

// How often frequency f of a last axis of real samples stands for another one too.
int mirrored(const Spectral& p, int f) {
  const int length = p.lengths.back();
  return p.complex || f == 0 || 2 * f == length ? 1 : 2;
}

// |w|^2 [C_in, C_out], summed over the frequencies of the result that a matrix makes.
std::vector<double> weight_of_channels(const Spectral& p, const std::vector<double>& w) {
  const std::vector<int> last = kept_on_axis(p, p.lengths.size() - 1);
  const std::int64_t frequencies = kept_count(p), matrices = p.shared ? 1 : frequencies;
  double of_all = 0;
  for (std::int64_t f = 0; f < frequencies; ++f) of_all += mirrored(p, last[f % std::ssize(last)]);
  std::vector<double> sums(p.inputs * p.outputs);
  for (std::int64_t i = 0; i < p.inputs; ++i)
    for (std::int64_t o = 0; o < p.outputs; ++o) {
      const std::int64_t pair = p.adjoint ? o * p.inputs + i : i * p.outputs + o;
      for (std::int64_t f = 0; f < matrices; ++f) {
        const double* const number = w.data() + 2 * (pair * matrices + f);
        const double square = number[0] * number[0] + number[1] * number[1];
        sums[i * p.outputs + o] += square * (p.shared ? of_all : mirrored(p, last[f % std::ssize(last)]));
      }
    }
  return sums;
}

// The square of item b of a channel of u, or of y where that has `channels`.
double square_of_row(const Spectral& p, std::int64_t channels, std::span<const double> samples, std::int64_t c,
                     std::int64_t b) {
  const std::int64_t row = points_of_row(p) * (p.complex ? 2 : 1);
  const std::span<const double> one =
      samples.subspan((p.channel_major ? c * p.batch + b : b * channels + c) * row, row);
  return std::inner_product(one.begin(), one.end(), one.begin(), 0.);
}

}  // namespace

double summed(const Spectral& p, const SpectralInputs& inputs) {
  const std::vector<double> weights = weight_of_channels(p, inputs.w);
  double all = 0;
  for (std::int64_t i = 0; i < p.inputs; ++i) {
    double of_outputs = 0, square = 0;
    for (std::int64_t o = 0; o < p.outputs; ++o) of_outputs += weights[i * p.outputs + o];
    for (std::int64_t b = 0; b < p.batch; ++b) square += square_of_row(p, p.inputs, inputs.u, i, b);
    all += of_outputs * square;
  }
  return std::sqrt(all / static_cast<double>(points_of_row(p)));
}

double summed_to_weights(const Spectral& p, std::span<const double> u, std::span<const double> dy) {
  const std::vector<int> last = kept_on_axis(p, p.lengths.size() - 1);
  double frequencies = 0;
  for (std::int64_t f = 0; f < kept_count(p); ++f) frequencies += std::pow(mirrored(p, last[f % std::ssize(last)]), 2);
  double all = 0;
  for (std::int64_t b = 0; b < p.batch; ++b) {
    double of_u = 0, of_dy = 0;
    for (std::int64_t i = 0; i < p.inputs; ++i) of_u += square_of_row(p, p.inputs, u, i, b);
    for (std::int64_t o = 0; o < p.outputs; ++o) of_dy += square_of_row(p, p.outputs, dy, o, b);
    all += of_u * of_dy;
  }
  return std::sqrt(frequencies * all) / static_cast<double>(points_of_row(p));
}

}  // namespace danaus
