#include "reference/short/bounds.hpp"

#include <algorithm>
#include <cmath>

#include "reference/bounds.hpp"

namespace danaus {

// A gradient's kernel may be another one than du's, whose roundings are told: toeplitz, with two. It has the gate
// before it and, of gates' gradients, u or dy behind it.
double bound_l2_of_short(const ShortConvolution& p, std::string_view output, int roundings) {
  const int gates = p.pregate + p.postgate;
  if (output == "dk" || output == "dbias") return bound_l2_of_roundings(p.dtype, gates) + 0x1p-13;
  const bool of_gate = output == "dpregate" || output == "dpostgate";
  return bound_l2_of_roundings(p.dtype, of_gate ? std::max(roundings, 2) + 2 : roundings + gates);
}

RowWork work_of(const ShortConvolution& p, std::string_view output) {
  const bool is_sum = output == "dk" || output == "dbias";
  return {2 + p.pregate + p.postgate, static_cast<double>(is_sum ? p.length * p.batch : std::min(p.taps, p.length))};
}

double bound_of_short_truth(const ShortConvolution& p) {
  return bound_l2_of_roundings(Dtype::f64, static_cast<int>(p.taps) + 4);
}

OutputTerms short_terms(const Array& output, const std::vector<double>& squares, double bound,
                        const std::vector<double>& rows, const std::vector<double>& gate) {
  std::vector<double> sizes(squares.size());
  std::ranges::transform(squares, sizes.begin(), [](double square) { return std::sqrt(square); });
  const RowOrder order = row_order(output);
  OutputTerms terms = output_terms(output, row_energies(order, sizes), bound);
  terms.squares = squares;
  for (std::int64_t row = 0; row < order.rows(); ++row) {
    terms.samples[row] = participation(gated_row(order, row, squares));
    if (!rows.empty()) terms.frequencies[row] = independent_frequencies(gated_row(order, row, rows, gate));
  }
  return terms;
}

}  // namespace danaus
