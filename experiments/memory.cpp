#include "experiments/memory.hpp"

#include <algorithm>

namespace danaus {

double memory_of(const Problem& resolved) {
  constexpr double kReal = sizeof(double), kComplex = 2 * sizeof(double);
  const double rows = static_cast<double>(resolved.batch) * static_cast<double>(resolved.channels);
  // u, y, the truth and one copy on the way; each gate
  const double samples = rows * static_cast<double>(resolved.length) * (4 + resolved.pregate + resolved.postgate);
  const double filter = static_cast<double>(resolved.channels) * static_cast<double>(resolved.filter_length);
  const double points = static_cast<double>(std::max(resolved.fft_size, 2 * resolved.length));
  // two spectra, work space and a table for each stage of the transform
  return kReal * (samples + 2 * filter) +
         kComplex * points * (6.0 + 2.0 * static_cast<double>(resolved.factors.size()));
}

}  // namespace danaus
