#include "experiments/explore/effect.hpp"

#include <cmath>
#include <numeric>

#include "reference/convolution/rows.hpp"

namespace danaus {
namespace {

std::vector<Complex> half_spectrum(std::span<const double> samples, std::int64_t n) {
  std::vector<double> padded(samples.begin(), samples.end());
  padded.resize(n);
  return real_dft(padded);
}

// A half spectrum stands for a whole one: all but 0 and N/2 twice.
double multiplicity(std::int64_t k, std::int64_t n) { return k == 0 || 2 * k == n ? 1 : 2; }

void scale_to_one(std::vector<double>& energy) {
  const double all = std::accumulate(energy.begin(), energy.end(), 0.0);
  for (double& value : energy) value = all > 0 ? value / all : 0;
}

double square(double value) { return value * value; }

double energy_of(std::span<const double> samples) {
  return std::inner_product(samples.begin(), samples.end(), samples.begin(), 0.0);
}

}  // namespace

Effect::Effect(const Convolution& problem, std::span<const double> k, const std::vector<ProbeInput>& inputs)
    : problem_(problem), filter_energy_(problem.fft_size / 2 + 1) {
  const std::int64_t n = problem.fft_size, half = n / 2 + 1;
  const bool by_spectra = problem.mode == Mode::circular && n == problem.length;
  output_energy_.assign(inputs.size(), std::vector<double>(half));
  if (!by_spectra) rows_.resize(inputs.size());
  for (std::int64_t channel = 0; channel < problem.channels; ++channel) {
    const auto row = k.subspan(channel * problem.filter_length, problem.filter_length);
    const std::vector<Complex> filter = half_spectrum(effective_filter(problem, row), n);
    for (std::int64_t f = 0; f < half; ++f) filter_energy_[f] += multiplicity(f, n) * std::norm(filter[f]);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::span u(inputs[i].u);
      std::vector<Complex> product = half_spectrum(u.subspan(channel * problem.length, problem.length), n);
      for (std::int64_t f = 0; f < half; ++f) {
        product[f] *= filter[f];
        output_energy_[i][f] += multiplicity(f, n) * std::norm(product[f]);
      }
      if (by_spectra) continue;
      std::vector<double> y(problem.length);
      to_length(problem.mode, inverse_real_dft(product, n), y);
      rows_[i].energy += energy_of(y);
      rows_[i].products.push_back(std::move(product));
    }
  }
  scale_to_one(filter_energy_);
  for (std::vector<double>& energy : output_energy_) scale_to_one(energy);
}

double Effect::energy_kept(std::span<const double> weights) const {
  double kept = 0;
  for (std::size_t f = 0; f < weights.size(); ++f) kept += square(weights[f]) * filter_energy_[f];
  return kept;
}

std::vector<double> Effect::errors(std::span<const double> weights) const {
  std::vector<double> errors;
  for (const Rows& rows : rows_) errors.push_back(error_of_samples(rows, weights));
  if (!rows_.empty()) return errors;
  for (const std::vector<double>& energy : output_energy_) {
    double lost = 0;
    for (std::size_t f = 0; f < weights.size(); ++f) lost += square(1 - weights[f]) * energy[f];
    errors.push_back(std::sqrt(lost));
  }
  return errors;
}

double Effect::error_of_samples(const Rows& rows, std::span<const double> weights) const {
  double lost = 0;
  std::vector<double> difference(problem_.length);
  for (std::vector<Complex> product : rows.products) {
    for (std::size_t f = 0; f < weights.size(); ++f) product[f] *= 1 - weights[f];
    to_length(problem_.mode, inverse_real_dft(product, problem_.fft_size), difference);
    lost += energy_of(difference);
  }
  return rows.energy > 0 ? std::sqrt(lost / rows.energy) : 0;
}

double snr_db(double relative_l2) { return -20 * std::log10(relative_l2); }

}  // namespace danaus
