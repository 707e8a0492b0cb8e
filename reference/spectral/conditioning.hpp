// What the rounding errors of a spectral layer are relative to.
#pragma once

#include "reference/row_terms.hpp"
#include "reference/spectral/layer.hpp"

namespace danaus {

// Terms of y. A row is relative to the norm that it would have if nothing cancelled: of every kept frequency the root
// of sum |w|^2 |u|^2 over the channels, with u as it is or spread evenly over the spectrum, whichever is more.
OutputTerms layer_terms(const Spectral& problem, const Array& output, const std::vector<double>& u,
                        const std::vector<double>& w, double bound);

// The same of dw, whose rows are pairs of channels: the root of the sum over batch and frequencies of |F u|^2 |F dy|^2.
OutputTerms weight_terms(const Spectral& problem, const Array& output, const std::vector<double>& u,
                         const std::vector<double>& dy, double bound);

}  // namespace danaus
