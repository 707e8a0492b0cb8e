// The work of a case, whatever the method: what must move and what must be computed.
#pragma once

#include "reference/operation.hpp"

namespace danaus {

// Inputs read once, outputs written once; of a training step by each of its passes. Not filters and their gradients:
// what is made of them is of each method's own size.
double moved_bytes(const Case& asked);

}  // namespace danaus
