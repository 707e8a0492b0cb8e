#include "reference/spectral/conditioning.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace danaus {
namespace {

// How often frequency f of a last axis of real samples stands for another one too.
int mirrored(const Spectral& p, int f) {
  const int length = p.lengths.back();
  return p.complex || f == 0 || 2 * f == length ? 1 : 2;
}

// Of every kept frequency, how often it stands for another one too.
std::vector<double> mirrored(const Spectral& p) {
  const std::vector<int> last = kept_on_axis(p, p.lengths.size() - 1);
  std::vector<double> times;
  for (std::int64_t f = 0; f < kept_count(p); ++f) times.push_back(mirrored(p, last[f % std::ssize(last)]));
  return times;
}

double square_of_weight(const Spectral& p, const std::vector<double>& w, std::int64_t i, std::int64_t o,
                        std::int64_t f) {
  const std::int64_t pair = p.adjoint ? o * p.inputs + i : i * p.outputs + o;
  const double* const number = w.data() + 2 * (p.shared ? pair : pair * kept_count(p) + f);
  return number[0] * number[0] + number[1] * number[1];
}

// Of the items of `channels` channels, [B, C] whatever the case's order. Spectra have the scale of the samples, so that
// f16 loses of them what it loses of samples.
RowEnergies item_energies(const Spectral& p, std::int64_t channels, const std::vector<double>& samples) {
  const RowOrder order{{{"b", p.batch}, {"c", channels}}, points_of_row(p) * (p.complex ? 2 : 1)};
  RowEnergies rows = row_energies(order, samples);
  for (double& square : rows.squares) square = rounded_square(p.dtype, square, static_cast<double>(order.length));
  if (!p.channel_major) return rows;
  RowEnergies by_item = rows;
  for (std::int64_t b = 0; b < p.batch; ++b)
    for (std::int64_t c = 0; c < channels; ++c)
      by_item.squares[b * channels + c] = rows.squares[c * p.batch + b],
                                     by_item.is_spoiled[b * channels + c] = rows.is_spoiled[c * p.batch + b];
  return by_item;
}

// How many numbers each item has, of samples or of kept frequencies, whichever are fewer.
std::vector<double> independent_numbers(const Spectral& p, std::int64_t channels, const std::vector<double>& samples,
                                        const std::vector<double>& spectra) {
  const std::int64_t size = points_of_row(p) * (p.complex ? 2 : 1), modes = kept_count(p);
  std::vector<double> numbers;
  for (std::int64_t b = 0; b < p.batch; ++b)
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::int64_t item = b * channels + c, row = p.channel_major ? c * p.batch + b : item;
      numbers.push_back(std::min(independent_samples(std::span(samples).subspan(row * size, size)),
                                 participation(std::span(spectra).subspan(item * modes, modes))));
    }
  return numbers;
}

bool is_finite(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

}  // namespace

// Errors of a transform spread over all frequencies; those of products are at the frequencies of their factors.
OutputTerms layer_terms(const Spectral& p, const Array& output, const std::vector<double>& u,
                        const std::vector<double>& w, double bound) {
  const RowEnergies items = item_energies(p, p.inputs, u);
  const std::vector<double> spectra = kept_squares(p, p.inputs, u), times = mirrored(p);
  const std::int64_t modes = kept_count(p), rows = p.batch * p.outputs;
  const double of_results = 2 * std::accumulate(times.begin(), times.end(), 0.);  // real and imaginary parts
  const bool spoils = !is_finite(w);
  RowEnergies summed{std::vector<double>(rows), std::vector<bool>(rows, spoils)};
  std::vector<double> frequencies(rows);
  for (std::int64_t b = 0; b < p.batch; ++b)
    for (std::int64_t o = 0; o < p.outputs; ++o) {
      const std::int64_t row = p.channel_major ? o * p.batch + b : b * p.outputs + o;
      std::vector<double> errors(modes);
      double of_products = 0, of_transforms = 0;
      for (std::int64_t i = 0; i < p.inputs; ++i) {
        const std::int64_t item = b * p.inputs + i;
        if (items.is_spoiled[item]) summed.is_spoiled[row] = true;
        for (std::int64_t f = 0; f < modes; ++f) {
          const double weight = times[f] * square_of_weight(p, w, i, o, f) / static_cast<double>(points_of_row(p));
          const double evenly = weight * items.of(item), here = weight * spectra[item * modes + f];
          of_transforms += evenly, of_products += here, errors[f] += evenly + here;
        }
      }
      if (summed.is_spoiled[row]) continue;
      of_transforms = rounded_square(p.dtype, of_transforms, of_results);
      summed.squares[row] = std::max(of_transforms, of_products), frequencies[row] = participation(errors);
    }
  OutputTerms terms = output_terms(output, summed, bound);
  terms.frequencies = std::move(frequencies);
  return terms;
}

OutputTerms weight_terms(const Spectral& p, const Array& output, const std::vector<double>& u,
                         const std::vector<double>& dy, double bound) {
  const RowEnergies of_u = item_energies(p, p.inputs, u), of_dy = item_energies(p, p.outputs, dy);
  const std::vector<double> u_spectra = kept_squares(p, p.inputs, u), dy_spectra = kept_squares(p, p.outputs, dy);
  const std::vector<double> times = mirrored(p);
  const std::vector<double> of_u_numbers = independent_numbers(p, p.inputs, u, u_spectra),
                            of_dy_numbers = independent_numbers(p, p.outputs, dy, dy_spectra);
  const std::int64_t modes = kept_count(p), rows = p.inputs * p.outputs;
  RowEnergies summed{std::vector<double>(rows), std::vector<bool>(rows)};
  std::vector<double> numbers(rows);  // how many err: frequencies
  for (std::int64_t i = 0; i < p.inputs; ++i)
    for (std::int64_t o = 0; o < p.outputs; ++o) {
      const std::int64_t row = i * p.outputs + o;
      std::vector<double> errors(modes);
      double of_products = 0, of_transforms = 0;
      for (std::int64_t b = 0; b < p.batch; ++b) {
        const std::int64_t a = b * p.inputs + i, c = b * p.outputs + o;
        if (of_u.is_spoiled[a] || of_dy.is_spoiled[c]) summed.is_spoiled[row] = true;
        // Where both have few numbers, errors are alike at all frequencies, and one weight for all adds them up.
        const double alike =
            p.shared ? std::max(1., static_cast<double>(modes) / (of_u_numbers[a] * of_dy_numbers[c])) : 1;
        for (std::int64_t f = 0; f < modes; ++f) {
          const double of_both = std::pow(times[f] / static_cast<double>(points_of_row(p)), 2);
          const double of_one = u_spectra[a * modes + f], of_other = dy_spectra[c * modes + f];
          const double spread = of_both * (of_one * of_dy.of(c) + of_u.of(a) * of_other) / 2;
          const double product = of_both * of_one * of_other;
          of_transforms += alike * spread, of_products += product, errors[f] += spread + product;
        }
      }
      if (summed.is_spoiled[row]) continue;
      summed.squares[row] = std::max(of_transforms, of_products);
      numbers[row] = p.shared ? 1 : participation(errors);
    }
  OutputTerms terms = output_terms(output, summed, bound);
  terms.samples = std::move(numbers), terms.has_frequencies = false;
  return terms;
}

RowWork work_of(const Spectral& p, std::string_view output) {
  RowWork work{3, static_cast<double>(output == "dw" ? p.batch : std::max(p.inputs, p.outputs))};
  for (int length : p.lengths) work.roundings += 4 * radix2_stages(length), work.products += length;
  return work;
}

}  // namespace danaus
