// What kernels of spectral layers must give.
#pragma once

#include "reference/spectral/layer.hpp"
#include "tests/kernels/fields.hpp"
#include "tests/kernels/support.hpp"

namespace danaus {

// Errors within the bounds of the case.
inline void expect_right(const Spectral& p, const std::vector<double>& expected, const std::vector<double>& y) {
  const Comparison comparison = compare(expected, y);
  const double bound = bound_l2(p);
  testing::Test::RecordProperty("clearance", std::to_string(comparison.rel_l2 / bound));
  EXPECT_LE(comparison.rel_l2, bound) << "worst at " << comparison.worst;
  EXPECT_LE(comparison.rel_max, bound_max(bound, std::ssize(y))) << "worst at " << comparison.worst;
  EXPECT_LE(std::abs(comparison.gain_error), bound_gain(bound, std::ssize(y)));
}

inline void expect_right(const Spectral& p, const SpectralInputs& inputs, const std::vector<double>& y) {
  expect_right(p, layer_by_fftw(p, inputs), y);
}

}  // namespace danaus
