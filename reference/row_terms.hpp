// What operations' judges have in common: rows of arrays, and their energies.
#pragma once

#include <span>
#include <vector>

#include "reference/judge.hpp"

namespace danaus {

// Rows of an array as its shape tells them: its extents B, H and C are those of rows.
RowOrder row_order(const Array& array);

// Of each row the sum of squares of its finite numbers, and whether it has others.
struct RowEnergies {
  std::vector<double> squares;
  std::vector<bool> is_spoiled;
  double of(std::int64_t row) const { return squares[row]; }
};

// Of the products of two arrays of this order; `gate` may be empty.
RowEnergies row_energies(const RowOrder& order, const std::vector<double>& values,
                         const std::vector<double>& gate = {});

// The numbers of a row, times those of `gate` where there is one.
std::vector<double> gated_row(const RowOrder& order, std::int64_t row, const std::vector<double>& values,
                              const std::vector<double>& gate = {});

// Of rows [B, H] that are not kept apart, the mean over those that share a transform, or their own energy if larger.
RowEnergies shared_energies(RowEnergies rows, std::int64_t batch, std::int64_t channels, const Promise& promise);

// Terms of an output with these squares of what was summed to its rows, and one bound.
OutputTerms output_terms(const Array& output, const RowEnergies& summed, double bound);

// Numbers that are rounded to f16 below its normal range, 2^-14, err as if they were as large: the square of that. What
// is 0 has no error.
inline constexpr double kSubnormalSquare = 0x1p-28;
inline double rounded_square(Dtype dtype, double square, double numbers = 1) {
  return dtype == Dtype::f16 && square != 0 ? square + numbers * kSubnormalSquare : square;
}

// The L2 norm, however large or small the values are.
double norm(std::span<const double> values);

// (sum e)^2 / sum e^2: how many of them have most of the sum; as many as there are where all are 0. Here and below NaN
// and infinity count as 0.
double participation(std::span<const double> energies);

// How many numbers of a row err independently, if errors are in proportion to its samples, or to its frequencies.
double independent_samples(std::span<const double> row);
double independent_frequencies(std::span<const double> row);

}  // namespace danaus
