// A convolution, row by row: what every way of computing it has in common.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/convolution/convolution.hpp"
#include "reference/convolution/data.hpp"

namespace danaus {

// Filter row k [K] as it acts on L samples: [min(K, L)], cut (causal) or wrapped modulo L (circular).
std::vector<double> effective_filter(const Convolution& problem, std::span<const double> k);

// Brings the results of a convolution, as many as there are, to y [L]: cut (causal) or added up modulo L (circular).
void to_length(Mode mode, std::span<const double> results, std::span<double> y);

// Whether two batch rows share a transform: in the pair fold, unless a literal mask makes the filter complex
// (fold.hpp).
bool shares_transforms(const Convolution& planned);

// One way of convolving the rows of a channel with its filter.
class RowMethod {
 public:
  virtual ~RowMethod() = default;
  virtual void set_filter(std::span<const double> filter) = 0;  // [min(K, L)]
  // Convolves rows [L] into y [L], before the second gate. The second spans are empty unless takes_pairs(), and for an
  // odd last row.
  virtual void apply(std::span<const double> first, std::span<const double> second, std::span<double> y_first,
                     std::span<double> y_second) const = 0;
  virtual bool takes_pairs() const { return false; }
};

// y [B, H, L] by `method`, gates included. What passes a gate is rounded to `stored`.
std::vector<double> convolve_rows(const Convolution& problem, const Inputs& inputs, RowMethod& method,
                                  Dtype stored = Dtype::f64);

}  // namespace danaus
