#include "reference/bounds.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace danaus {

// c of c u sqrt(R), with the largest rel_l2 / (u sqrt(8 p - 1)) that the model of
// convolution/rounding.hpp gave in unitary scaling over N = 256
// ... 32768 in powers of two, p = 2 ... 5, circular pair and half, causal right angle and padded pair, all data kinds
// (as a recording, a mixture of sinusoids) and filters:
//
//   dtype   c   Gaussian data   worst, and where
//   f16     1   0.46            0.70  constant data, half fold, p = 2
//   bf16    1   0.45            0.54  mixture of sinusoids, pair fold, p = 3
//   f32     8   1.64            4.42  constant data, padded pair, N = 256 * 128
//   f64    16   2.24            3.85  constant data, pair fold, N = 128 * 64
//
// and of a single stage with N from 1 to 1024: 0.86 (f16, six outputs of N = 3), 0.62, 3.9 and 7.4 (N = 1021).
//
// In f16 and bf16 independent roundings add as a random walk: each is uniform within u, rms u / sqrt(3) of the values'
// own rms or less. In f32 and f64 the accumulation rounds too, Ns times a stage, and c pays for that. The rest of c
// covers what constant data and recordings do: they put their energy into few frequencies and the filter may have
// little there.
double bound_l2_of_roundings(Dtype dtype, int roundings) {
  if (roundings < 0) fail("bound_l2: ", roundings, " roundings, must be at least 0");
  const double c = dtype == Dtype::f64 ? 16 : dtype == Dtype::f32 ? 8 : 1;
  return c * unit_roundoff(dtype) * std::sqrt(roundings);
}

int radix2_stages(std::int64_t points) {
  return std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(points, 2) - 1));
}

double excess_of_few(double independent) { return std::sqrt(1 + 8 / independent); }

double bound_max(double bound_l2, std::int64_t samples) {
  return bound_l2 * (1 + std::sqrt(2 * std::log(static_cast<double>(samples))));
}

// Rounded coefficients scale a result by as much as they are off on average. Of a thousand samples and more, bf16 makes
// this 0.41 % at most (1.04 u) in this model over the cases above but constant data, which reach 0.82 %.
double bound_gain(double bound_l2, std::int64_t samples) {
  return std::min(bound_l2, 0.007 + 2 * bound_l2 / std::sqrt(static_cast<double>(samples)));
}

}  // namespace danaus
