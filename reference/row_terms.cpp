#include "reference/row_terms.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/dft.hpp"

namespace danaus {
namespace {

// As places have it; empty for an extent that is part of a row.
std::string_view row_axis(std::string_view extent) {
  for (const auto& [name, axis] : {std::pair<std::string_view, std::string_view>{"B", "b"},
                                   {"H", "h"},
                                   {"C", "c"},
                                   {"C_in", "c_in"},
                                   {"C_out", "c_out"}})
    if (extent == name) return axis;
  return {};
}

}  // namespace

RowOrder row_order(const Array& array) {
  RowOrder order{{}, 1};
  std::string_view names = array.shape;
  for (std::int64_t extent : array.extents) {
    const std::string_view name = names.substr(0, names.find('*'));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    if (const std::string_view axis = row_axis(name); axis.empty()) {
      if (order.inner > 1) throw std::logic_error(text("rows of ", array.name, " [", array.shape, "] are no rows"));
      order.length *= extent;
    } else {
      order.axes.push_back({axis, extent});
      if (order.length > 1) order.inner *= extent;
    }
  }
  return order;
}

RowEnergies row_energies(const RowOrder& order, const std::vector<double>& values, const std::vector<double>& gate) {
  const auto size = static_cast<std::size_t>(order.rows() * order.length);
  if (values.size() != size || (!gate.empty() && gate.size() != size))
    fail("judge: an input has ", values.size(), " numbers and its gate ", gate.size(), ", must be ", size);
  RowEnergies rows{std::vector<double>(order.rows()), std::vector<bool>(order.rows())};
  for (std::int64_t row = 0; row < order.rows(); ++row)
    for (std::int64_t n = 0, i = order.first(row); n < order.length; ++n, i += order.inner) {
      const double value = gate.empty() ? values[i] : values[i] * gate[i];
      if (std::isfinite(value))
        rows.squares[row] += value * value;
      else
        rows.is_spoiled[row] = true;
    }
  return rows;
}

std::vector<double> gated_row(const RowOrder& order, std::int64_t row, const std::vector<double>& values,
                              const std::vector<double>& gate) {
  std::vector<double> gated;
  gated.reserve(order.length);
  for (std::int64_t n = 0, i = order.first(row); n < order.length; ++n, i += order.inner)
    gated.push_back(gate.empty() ? values[i] : values[i] * gate[i]);
  return gated;
}

RowEnergies shared_energies(RowEnergies rows, std::int64_t batch, std::int64_t channels, const Promise& promise) {
  const std::int64_t shared = promise.shared_rows > 0 ? promise.shared_rows : batch;
  if (promise.keeps_rows_apart || shared == 1) return rows;
  for (std::int64_t h = 0; h < channels; ++h)
    for (std::int64_t first = 0; first < batch; first += shared) {
      const std::int64_t end = std::min(first + shared, batch);
      double sum = 0;
      bool is_spoiled = false;
      for (std::int64_t b = first; b < end; ++b)
        sum += rows.squares[b * channels + h], is_spoiled |= rows.is_spoiled[b * channels + h];
      for (std::int64_t b = first; b < end; ++b) {
        double& square = rows.squares[b * channels + h];
        square = std::max(square, sum / static_cast<double>(end - first));
        rows.is_spoiled[b * channels + h] = is_spoiled;
      }
    }
  return rows;
}

OutputTerms output_terms(const Array& output, const RowEnergies& summed, double bound) {
  OutputTerms terms{output.name, output.dtype, row_order(output), {}, {}, {}, {}, {}, summed.is_spoiled};
  for (double square : summed.squares) terms.summed.push_back(std::sqrt(square));
  terms.bounds.assign(summed.squares.size(), bound);
  terms.samples.assign(summed.squares.size(), std::numeric_limits<double>::infinity());
  terms.frequencies = terms.samples;
  return terms;
}

namespace {

double largest(std::span<const double> values) {
  double most = 0;
  for (double value : values) most = std::max(most, std::abs(value));
  return most;
}

std::vector<double> with_zeros_for_nonfinite(std::span<const double> values) {
  std::vector<double> finite(values.begin(), values.end());
  std::ranges::replace_if(
      finite, [](double value) { return !std::isfinite(value); }, 0);
  return finite;
}

// The power of two that brings numbers of at most this size next to 1, so that none of their squares is lost.
double power_beside(double most) { return std::ldexp(1, -std::ilogb(most)); }

}  // namespace

double norm(std::span<const double> values) {
  const double most = largest(values);
  if (most == 0 || !std::isfinite(most)) return most;
  const double scale = power_beside(most);
  double sum = 0;
  for (double value : values) sum += (scale * value) * (scale * value);
  return std::sqrt(sum) / scale;
}

double participation(std::span<const double> energies) {
  const std::vector<double> finite = with_zeros_for_nonfinite(energies);
  const double most = largest(finite);
  if (most == 0) return static_cast<double>(finite.size());
  const double scale = power_beside(most);
  double sum = 0, squares = 0;
  for (double energy : finite) sum += scale * energy, squares += (scale * energy) * (scale * energy);
  return sum * sum / squares;
}

double independent_samples(std::span<const double> row) {
  const std::vector<double> finite = with_zeros_for_nonfinite(row);
  const double most = largest(finite);
  if (most == 0) return static_cast<double>(finite.size());
  const double scale = power_beside(most);
  double sum = 0, squares = 0;
  for (double value : finite) {
    const double energy = (scale * value) * (scale * value);
    sum += energy, squares += energy * energy;
  }
  return sum * sum / squares;
}

double independent_frequencies(std::span<const double> row) {
  std::vector<double> scaled = with_zeros_for_nonfinite(row), energies;
  const double most = largest(scaled);
  if (most == 0) return static_cast<double>(scaled.size());
  for (double& value : scaled) value *= power_beside(most);
  const auto spectrum = real_dft(scaled);
  energies.reserve(spectrum.size());
  for (const Complex& number : spectrum) energies.push_back(std::norm(number));
  for (std::size_t k = 1; 2 * k < row.size(); ++k) energies[k] *= 2;  // those with a mirror image
  return participation(energies);
}

}  // namespace danaus
