// Which noise() fills the arrays of a case.
#pragma once

#include <cstdint>
#include <string_view>

#include "reference/operation.hpp"

namespace danaus {

// Each array of a case is noise() of its own key times its scale, rounded to its type; inputs begin with input set 0.
// Scales are such that outputs keep the scale of inputs: 1 but for filters and weights. Filters that noise is none of
// are those of their operation (Subject::filters()).
std::uint64_t array_key(const Case& asked, std::string_view array);
float array_scale(const Case& asked, const Array& array);

}  // namespace danaus
