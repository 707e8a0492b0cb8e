// Which rows of a case are checked.
#pragma once

#include <cstdint>
#include <vector>

#include "experiments/operations/subject.hpp"

namespace danaus {

// At most `most` of `count`, in order, the first and the last among them. With `pairs`, i comes with the other of 2 j
// and 2 j + 1.
std::vector<std::int64_t> some_of(std::int64_t count, std::int64_t most, bool pairs);
std::vector<std::int64_t> all_of(std::int64_t count);

// How many of batch or channels, of which each takes so many sums: few enough that all take seconds.
std::int64_t most_of(std::int64_t samples);

// Rows (first, second) of an array whose first extents are these; each has `count` numbers.
std::vector<Block> rows_of(const std::vector<std::int64_t>& first, const std::vector<std::int64_t>& second,
                           std::int64_t seconds, std::int64_t count);

}  // namespace danaus
