#include "reference/convolution/terms.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "reference/convolution/convolve.hpp"
#include "reference/convolution/rows.hpp"

namespace danaus {
namespace {

std::int64_t largest_prime_factor(std::int64_t n) {
  std::int64_t largest = 1;
  for (std::int64_t factor = 2; factor * factor <= n; ++factor)
    while (n % factor == 0) largest = factor, n /= factor;
  return std::max(largest, n);
}

RowEnergies filter_energies(const Convolution& p, const std::vector<double>& k) {
  if (std::ssize(k) != p.channels * p.filter_length)
    fail("judge: k has ", k.size(), " numbers, must be ", p.channels * p.filter_length);
  const RowEnergies taps = row_energies({{{"h", p.channels}}, p.filter_length}, k);
  std::vector<double> used;
  if (!p.mask.empty()) used = masked_filters(p, k);
  for (std::int64_t h = 0; p.mask.empty() && h < p.channels; ++h) {
    const std::vector<double> row = effective_filter(p, std::span(k).subspan(h * p.filter_length, p.filter_length));
    used.insert(used.end(), row.begin(), row.end());
  }
  return {row_energies({{{"h", p.channels}}, std::ssize(used) / p.channels}, used).squares, taps.is_spoiled};
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
  const RowEnergies filters = filter_energies(p, k);
  const RowEnergies gates = after.empty() ? RowEnergies() : row_energies(order, after);
  for (std::int64_t row = 0; row < order.rows(); ++row) {
    const std::int64_t h = row % p.channels;
    summed.squares[row] *=
        filters.squares[h] * (after.empty() ? 1 : gates.squares[row] / static_cast<double>(p.length));
    if (filters.is_spoiled[h] || (!after.empty() && gates.is_spoiled[row])) summed.is_spoiled[row] = true;
  }
  OutputTerms terms = output_terms(output, summed, bound);
  set_sharing(terms, promise);
  return terms;
}

OutputTerms correlated_terms(const Convolution& p, const Array& output, const Inputs& inputs,
                             const std::vector<double>& dy, double bound, const Promise& promise) {
  const RowOrder order{{{"b", p.batch}, {"h", p.channels}}, p.length};
  const auto energies = [&](const std::vector<double>& rows, const std::vector<double>& gate) {
    return shared_energies(row_energies(order, rows, gate), p.batch, p.channels, promise);
  };
  const RowEnergies u = energies(inputs.u, inputs.pregate), v_dy = energies(dy, inputs.postgate);
  const double of_lags = static_cast<double>(p.filter_length) / static_cast<double>(p.length);
  const double seen = p.mode == Mode::circular ? of_lags : std::min(of_lags, 1.);
  RowEnergies summed{std::vector<double>(p.channels), std::vector<bool>(p.channels)};
  for (std::int64_t row = 0; row < order.rows(); ++row) {
    summed.squares[row % p.channels] += seen * u.squares[row] * v_dy.squares[row];
    if (u.is_spoiled[row] || v_dy.is_spoiled[row]) summed.is_spoiled[row % p.channels] = true;
  }
  OutputTerms terms = output_terms(output, summed, bound);
  set_sharing(terms, promise);
  return terms;
}

// Two forward transforms and an inverse, in which each value is rounded about once in each of log2 N steps, and the
// products; as a random walk, and twice that for data whose energy the filter removes (constant data lose most). A
// prime factor above 13 is computed by a convolution of its own, which takes as many steps again.
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
