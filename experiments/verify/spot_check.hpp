// An independent look at a finished convolution: the direct sum, sample by sample, over as many samples as time allows.
#pragma once

#include <span>
#include <vector>

#include "reference/compare.hpp"
#include "reference/convolution/convolution.hpp"
#include "reference/convolution/data.hpp"

namespace danaus {

// Samples of y [B, H, L] by the direct sum, without a mask: all where the sums take at most 2e8 multiplications, else
// that many of them, drawn with a fixed seed.
struct DirectSamples {
  std::vector<std::int64_t> indices;
  std::vector<double> values;
};
DirectSamples direct_samples(const Convolution& problem, const Inputs& inputs);

struct SpotCheck {
  std::int64_t samples, of;  // checked, and how many there are
  Comparison in_double;      // of y as computed; `worst` is an index into y
  Comparison as_written;     // of y rounded to the case's type; likewise
  bool plausible;            // no sample is off by more than double arithmetic explains
};

// Of y as computed from `inputs`, by direct_samples().
SpotCheck spot_check(const Convolution& problem, const Inputs& inputs, std::span<const double> y);

}  // namespace danaus
