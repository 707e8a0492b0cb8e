// What the rounding errors of a spectral layer are relative to.
#pragma once

#include "reference/row_terms.hpp"
#include "reference/spectral/layer.hpp"

namespace danaus {

// Terms of y. Errors of a row are relative to the norm that it would have if nothing cancelled. A kept frequency
// adds the sum of |w|^2 |u|^2 over the channels to its square; u counts as it is, or spread evenly over the spectrum if
// that is more.
OutputTerms layer_terms(const Spectral& problem, const Array& output, const std::vector<double>& u,
                        const std::vector<double>& w, double bound);

// Terms of dw, whose rows are pairs of channels. Errors are relative to the root of the sum of |F u|^2 |F dy|^2 over
// batch and frequencies.
OutputTerms weight_terms(const Spectral& problem, const Array& output, const std::vector<double>& u,
                         const std::vector<double>& dy, double bound);

// Of y, du or dw.
RowWork work_of(const Spectral& problem, std::string_view output);

}  // namespace danaus
