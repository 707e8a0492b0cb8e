// The work of a case, whatever the method: what must move and what must be computed.
#pragma once

#include "reference/convolution/convolution.hpp"

namespace danaus {

// u and the gates read once, y written once. Not the filter: its spectrum is of each method's own size.
double moved_bytes(const Convolution& problem);

// Useful flops by FFTW's convention: 2.5 M log2 M for a real transform of M points; forward, backward, and 6 for each
// of the M / 2 complex products between. M is L (circular), or the 2 L of a padded linear convolution (causal). Gates
// take one a sample.
double useful_flops(const Convolution& problem);

}  // namespace danaus
