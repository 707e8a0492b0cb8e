// filtered_exchange: y = v' * conv(w' * u', k), each of u, w and v through a short filter of its own: by an exchange.
//
// A block filters the rows of an item in its slabs (memory/short_filters.hpp), u and w before step A, v before step A
// back; then it does what an exchange does. Reference reference/gated/truth.cpp, test tests/kernels/gated_test.cpp.
#pragma once

#include "kernels/families/exchange/kernel.hpp"
#include "kernels/families/filtered_exchange/family.hpp"

namespace danaus::filtered_exchange::inline DANAUS_BACKEND {

template <exchange::Key key, exchange::Tuning tuning>
struct Shape : exchange::Shape<key, tuning> {};

using exchange::run;

}  // namespace danaus::filtered_exchange::inline DANAUS_BACKEND
