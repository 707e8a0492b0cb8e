// A case too large to be checked whole: some of its rows, and what they must become.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "reference/step/step.hpp"
#include "reference/truth.hpp"

namespace danaus {

// Each array of a case is noise() of its own key times its scale, rounded to its type; inputs begin with input set 0.
// Scales are such that outputs keep the scale of inputs: 1 but for filters and weights.
std::uint64_t array_key(const Case& asked, std::string_view array);
float array_scale(const Case& asked, const Array& array);

// Numbers of an array that lie one behind the other.
struct Block {
  std::int64_t first, count;
};

struct CheckedRows {
  Case asked;                              // the same case with only these rows
  std::vector<std::vector<Block>> places;  // where they are, in each of the case's arrays
  std::int64_t rows, of;                   // of y; of spectral layers items of the batch
  Values inputs;                           // of input set 0, rounded as they are on the device
  Values outputs;                          // the truth in double
  // The norm of what was summed to an output's errors, over that of the output: 1 but for dk (rounding.hpp).
  double size_of_sums(std::string_view output) const;
};

// The first and the last of batch and channels and, with a fixed seed, others between, as many as are computed in
// seconds; batch rows come with the partner that a pair gives them. Where dk is an output, the whole batch, of which it
// is the sum. Of spectral layers all channels. Throws for operations that are not timed.
CheckedRows checked_rows(const Case& asked);

}  // namespace danaus
