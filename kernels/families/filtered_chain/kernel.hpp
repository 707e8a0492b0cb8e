// filtered_chain: y = v' * conv(w' * u', k), each of u, w and v through a short filter of its own: by a chain.
//
// A warp filters the rows of an item in its slab (memory/short_filters.hpp), then it does what a chain does. Reference
// reference/gated/truth.cpp, test tests/kernels/gated_test.cpp.
#pragma once

#include "kernels/families/chain/kernel.hpp"
#include "kernels/families/filtered_chain/family.hpp"

namespace danaus::filtered_chain::inline DANAUS_BACKEND {

template <chain::Key key, chain::Tuning tuning>
struct Shape : chain::Shape<key, tuning> {};

using chain::run;

}  // namespace danaus::filtered_chain::inline DANAUS_BACKEND
