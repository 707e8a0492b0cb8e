#include "reference/convolution/terms.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "reference/convolution/convolve.hpp"
#include "reference/convolution/rows.hpp"
#include "reference/dft.hpp"

namespace danaus {
namespace {

// Gates of few samples have most of their energy in at most this share of a row.
constexpr double kFewOfGate = 1. / 16;

std::int64_t largest_prime_factor(std::int64_t n) {
  std::int64_t largest = 1;
  for (std::int64_t factor = 2; factor * factor <= n; ++factor)
    while (n % factor == 0) largest = factor, n /= factor;
  return std::max(largest, n);
}

// The filters as they act, and how many frequencies and taps they have.
struct Filters {
  RowEnergies energies;
  std::vector<double> frequencies, taps;
};

Filters filters_of(const Convolution& p, const std::vector<double>& k) {
  if (std::ssize(k) != p.channels * p.filter_length)
    fail("judge: k has ", k.size(), " numbers, must be ", p.channels * p.filter_length);
  Filters filters{row_energies({{{"h", p.channels}}, p.filter_length}, k), {}, {}};
  std::vector<double> masked;
  if (!p.mask.empty()) masked = masked_filters(p, k);
  const std::int64_t of_masked = std::ssize(masked) / p.channels;
  for (std::int64_t h = 0; h < p.channels; ++h) {
    std::vector<double> row = p.mask.empty()
                                  ? effective_filter(p, std::span(k).subspan(h * p.filter_length, p.filter_length))
                                  : std::vector(masked.begin() + h * of_masked, masked.begin() + (h + 1) * of_masked);
    filters.energies.squares[h] = std::pow(norm(row), 2);
    filters.taps.push_back(filters.energies.is_spoiled[h] ? 1 : independent_samples(row));
    row.resize(std::max<std::size_t>(row.size(), p.length));
    filters.frequencies.push_back(filters.energies.is_spoiled[h] ? 1 : independent_frequencies(row));
  }
  return filters;
}

// A filter with at least this share of the frequencies has independent errors, whatever the data.
constexpr double kFewFrequencies = 1. / 16;

// A row's result before the gate that follows it. Gradients of samples convolve backward.
std::vector<double> result_of(const Convolution& p, std::vector<double> row, std::span<const double> taps,
                              bool is_adjoint) {
  Convolution alone = p;
  alone.batch = alone.channels = 1, alone.pregate = alone.postgate = false;
  if (is_adjoint) std::ranges::reverse(row);
  return convolve(alone, {std::move(row), std::vector(taps.begin(), taps.end()), {}, {}}, Algorithm::fftw);
}

// Adds the energy of each frequency of a row, so many times.
void add_spectrum(std::vector<double>& sum, const std::vector<double>& row, double times) {
  const std::vector<Complex> spectrum = real_dft(row);
  sum.resize(spectrum.size());
  for (std::size_t f = 0; f < spectrum.size(); ++f)
    sum[f] += times * std::norm(spectrum[f]) * (f > 0 && 2 * f < row.size() ? 2 : 1);
}

}  // namespace

Inputs inputs_of(const Values& values) {
  return {array_in(values, "u"), array_in(values, "k"), array_in(values, "pregate"), array_in(values, "postgate")};
}

Values values_of(Inputs inputs) {
  Values values = {{"u", std::move(inputs.u)}, {"k", std::move(inputs.k)}};
  if (!inputs.pregate.empty()) values["pregate"] = std::move(inputs.pregate);
  if (!inputs.postgate.empty()) values["postgate"] = std::move(inputs.postgate);
  return values;
}

OutputTerms convolved_terms(const Convolution& p, const Array& output, const std::vector<double>& rows,
                            const std::vector<double>& k, const std::vector<double>& before,
                            const std::vector<double>& after, double bound, const Promise& promise) {
  const RowOrder order = row_order(output);
  RowEnergies summed = shared_energies(row_energies(order, rows, before), p.batch, p.channels, promise);
  const Filters filters = filters_of(p, k);
  const RowEnergies gates = after.empty() ? RowEnergies() : row_energies(order, after);
  for (std::int64_t row = 0; row < order.rows(); ++row) {
    const std::int64_t h = row % p.channels;
    summed.squares[row] *=
        filters.energies.squares[h] * (after.empty() ? 1 : gates.squares[row] / static_cast<double>(p.length));
    if (filters.energies.is_spoiled[h] || (!after.empty() && gates.is_spoiled[row])) summed.is_spoiled[row] = true;
  }
  OutputTerms terms = output_terms(output, summed, bound);
  for (std::int64_t row = 0; row < order.rows(); ++row) {
    const std::int64_t h = row % p.channels;
    const std::vector<double> gated = gated_row(order, row, rows, before);
    // A spike through one tap is a spike, also where it is trimmed.
    const double samples = independent_samples(gated);
    terms.samples[row] = samples * filters.taps[h];
    terms.frequencies[row] = std::min(filters.frequencies[h], independent_frequencies(gated));
    // Neighbouring frequencies of a spike are products of the same rounded factors, but for those of the last stage.
    if (terms.frequencies[row] < kFewFrequencies * static_cast<double>(p.length))
      terms.frequencies[row] = std::min(terms.frequencies[row], 2 * samples);
    if (after.empty()) continue;
    const double of_gate = independent_samples(std::span(after).subspan(row * p.length, p.length));
    terms.samples[row] = std::min(terms.samples[row], of_gate);
    // Errors are relative to the whole result. A gate of few samples may show a place where the result is small. If the
    // result is a spike, its errors are at few samples too.
    if (summed.is_spoiled[row] || of_gate > kFewOfGate * static_cast<double>(p.length)) continue;
    const std::vector<double> result = result_of(p, gated, std::span(k).subspan(h * p.filter_length, p.filter_length),
                                                 output.name == "du" || output.name == "dpregate");
    terms.summed[row] =
        std::max(terms.summed[row], norm(result) * std::sqrt(gates.squares[row] / independent_samples(result)));
  }
  return terms;
}

OutputTerms correlated_terms(const Convolution& p, const Array& output, const Inputs& inputs,
                             const std::vector<double>& dy, double bound, const Promise& promise) {
  const RowOrder order{{{"b", p.batch}, {"h", p.channels}}, p.length};
  const auto energies = [&](const std::vector<double>& rows, const std::vector<double>& gate) {
    RowEnergies all = row_energies(order, rows, gate);
    for (double& square : all.squares) square = rounded_square(p.dtype, square, static_cast<double>(p.length));
    return shared_energies(std::move(all), p.batch, p.channels, promise);
  };
  const RowEnergies u = energies(inputs.u, inputs.pregate), v_dy = energies(dy, inputs.postgate);
  const double of_lags = static_cast<double>(p.filter_length) / static_cast<double>(p.length);
  const double most = p.mode == Mode::circular ? of_lags : std::min(of_lags, 1.);
  RowEnergies summed{std::vector<double>(p.channels), std::vector<bool>(p.channels)};
  std::vector<std::vector<double>> spectra(p.channels);  // of errors: each row's times the white ones of the other
  std::vector<double> concentration(p.channels);
  for (std::int64_t row = 0; row < order.rows(); ++row) {
    if (u.is_spoiled[row] || v_dy.is_spoiled[row]) {
      summed.is_spoiled[row % p.channels] = true;
      continue;
    }
    const std::vector<double> of_u = gated_row(order, row, inputs.u, inputs.pregate),
                              of_dy = gated_row(order, row, dy, inputs.postgate);
    const double products = independent_samples(of_u) * independent_samples(of_dy);
    const double seen = std::max(most, 1 / products), square = seen * u.squares[row] * v_dy.squares[row];
    summed.squares[row % p.channels] += square;
    concentration[row % p.channels] += square * square / (seen * products);
    add_spectrum(spectra[row % p.channels], of_u, v_dy.squares[row]);
    add_spectrum(spectra[row % p.channels], of_dy, u.squares[row]);
  }
  OutputTerms terms = output_terms(output, summed, bound);
  for (std::int64_t h = 0; h < p.channels; ++h) {
    if (summed.is_spoiled[h]) continue;
    terms.frequencies[h] = participation(spectra[h]);
    if (concentration[h] > 0) terms.samples[h] = summed.squares[h] * summed.squares[h] / concentration[h];
  }
  return terms;
}

RowWork work_of(const Convolution& p, std::string_view output) {
  const std::int64_t points = p.mode == Mode::circular ? p.length : p.length + p.filter_length - 1;
  const std::int64_t products = output == "dk" ? p.length * p.batch : std::min(p.filter_length, p.length);
  return {4 * radix2_stages(points) + 3 + p.pregate + p.postgate, static_cast<double>(products)};
}

// Two forward transforms, the products and an inverse. A transform rounds each value about once in each of log2 N
// steps, and roundings add like a random walk. Twice that, for data whose energy the filter removes: constant data lose
// most. A prime factor above 13 is computed by a convolution of its own, which takes as many steps again.
double fftw_bound(const Convolution& p) {
  constexpr std::int64_t kMostFactor = 13;  // that FFTW has code for
  const std::int64_t n = real_fft_size(p);
  const int steps = std::bit_width(static_cast<std::uint64_t>(n));
  return (largest_prime_factor(n) > kMostFactor ? 4 : 2) * unit_roundoff(Dtype::f64) * std::sqrt(3. * steps + 4);
}

// The direct sum rounds each sample once a term: a random walk.
double direct_bound(const Convolution& p) {
  const std::int64_t terms = p.mask.empty() ? std::min(p.filter_length, p.length) : real_fft_size(p);
  return unit_roundoff(Dtype::f64) * std::sqrt(static_cast<double>(terms));
}

double direct_multiplications(const Convolution& p) {
  const auto size = static_cast<double>(real_fft_size(p)), length = static_cast<double>(p.length);
  const double channels = static_cast<double>(p.channels), rows = static_cast<double>(p.batch) * channels;
  if (!p.mask.empty()) return rows * length * size + channels * size * size;
  return rows * length * static_cast<double>(std::min(p.filter_length, p.length));
}

}  // namespace danaus
