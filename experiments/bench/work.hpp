// The work of a case, whatever the method: what must move and what must be computed.
#pragma once

#include "reference/convolution/convolution.hpp"

namespace danaus {

// u and the gates read once, y written once. Not the filter: its spectrum is of each method's own size.
double moved_bytes(const Convolution& problem);

}  // namespace danaus
