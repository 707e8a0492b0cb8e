// Whether an operation keeps to the limits.
#pragma once

#include "reference/limits.hpp"
#include "reference/operation.hpp"

namespace danaus {

// The case as it is; throws std::logic_error where its operation has declared more. parse_case() asks.
Case within_limits(Case asked);

}  // namespace danaus
