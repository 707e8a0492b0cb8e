#include "experiments/memory.hpp"

#include <algorithm>

namespace danaus {

double memory_of(const Problem& planned) {
  constexpr double kReal = sizeof(double), kComplex = 2 * sizeof(double);
  const double rows = static_cast<double>(planned.batch) * static_cast<double>(planned.channels);
  // u, y, the truth and one copy on the way; each gate
  const double samples = rows * static_cast<double>(planned.length) * (4 + planned.pregate + planned.postgate);
  const double filter = static_cast<double>(planned.channels) * static_cast<double>(planned.filter_length);
  const double points = static_cast<double>(std::max(planned.fft_size, 2 * planned.length));
  // two spectra, work space and a table for each stage of the transform
  return kReal * (samples + 2 * filter) + kComplex * points * (6.0 + 2.0 * static_cast<double>(planned.factors.size()));
}

}  // namespace danaus
