// Every kernel that the tables of the families have: what choice, tests, bench, list and counting walk over.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/families/variant.hpp"

namespace danaus {

// By N, then by family, in the order of their tables. Of one N and kind exactly one is preferred. Those that this build
// has not are there too, as not compiled.
std::span<const std::unique_ptr<const Variant>> variants();

// Those that leave out what a mask removes, in the same order: at most one of a type, an N and its factors.
std::span<const std::unique_ptr<const Variant>> sparse_variants();

// Those whose rows short filters convolve first, in the same order: of one type, N and fold one is preferred.
std::span<const std::unique_ptr<const Variant>> filtered_variants();

}  // namespace danaus
