#include "reference/spectral/conditioning.hpp"

#include <algorithm>
#include <cmath>

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

// Of the items of `channels` channels, [B, C] whatever the case's order.
RowEnergies item_energies(const Spectral& p, std::int64_t channels, const std::vector<double>& samples) {
  const RowOrder order{{{"b", p.batch}, {"c", channels}}, points_of_row(p) * (p.complex ? 2 : 1)};
  const RowEnergies rows = row_energies(order, samples);
  if (!p.channel_major) return rows;
  RowEnergies by_item = rows;
  for (std::int64_t b = 0; b < p.batch; ++b)
    for (std::int64_t c = 0; c < channels; ++c)
      by_item.squares[b * channels + c] = rows.squares[c * p.batch + b],
                                     by_item.is_spoiled[b * channels + c] = rows.is_spoiled[c * p.batch + b];
  return by_item;
}

bool is_finite(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

}  // namespace

OutputTerms layer_terms(const Spectral& p, const Array& output, const std::vector<double>& u,
                        const std::vector<double>& w, double bound) {
  const std::vector<double> weights = weight_of_channels(p, w);
  const RowEnergies items = item_energies(p, p.inputs, u);
  const bool spoils = !is_finite(w);
  RowEnergies summed{std::vector<double>(p.batch * p.outputs), std::vector<bool>(p.batch * p.outputs, spoils)};
  for (std::int64_t b = 0; b < p.batch; ++b)
    for (std::int64_t o = 0; o < p.outputs; ++o) {
      const std::int64_t row = p.channel_major ? o * p.batch + b : b * p.outputs + o;
      for (std::int64_t i = 0; i < p.inputs; ++i) {
        const double square = weights[i * p.outputs + o] * items.of(b * p.inputs + i);
        summed.squares[row] += square / static_cast<double>(points_of_row(p));
        if (items.is_spoiled[b * p.inputs + i]) summed.is_spoiled[row] = true;
      }
    }
  return output_terms(output, summed, bound);
}

OutputTerms weight_terms(const Spectral& p, const Array& output, const std::vector<double>& u,
                         const std::vector<double>& dy, double bound) {
  const std::vector<int> last = kept_on_axis(p, p.lengths.size() - 1);
  double frequencies = 0;
  for (std::int64_t f = 0; f < kept_count(p); ++f) frequencies += std::pow(mirrored(p, last[f % std::ssize(last)]), 2);
  const RowEnergies of_u = item_energies(p, p.inputs, u), of_dy = item_energies(p, p.outputs, dy);
  RowEnergies summed{std::vector<double>(p.inputs * p.outputs), std::vector<bool>(p.inputs * p.outputs)};
  for (std::int64_t i = 0; i < p.inputs; ++i)
    for (std::int64_t o = 0; o < p.outputs; ++o)
      for (std::int64_t b = 0; b < p.batch; ++b) {
        const std::int64_t row = i * p.outputs + o, a = b * p.inputs + i, c = b * p.outputs + o;
        summed.squares[row] += frequencies * of_u.of(a) * of_dy.of(c) / std::pow(points_of_row(p), 2);
        if (of_u.is_spoiled[a] || of_dy.is_spoiled[c]) summed.is_spoiled[row] = true;
      }
  OutputTerms terms = output_terms(output, summed, bound);
  terms.has_frequencies = false;
  return terms;
}

}  // namespace danaus
