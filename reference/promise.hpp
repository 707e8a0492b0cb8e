// What a way of computing a case promises of its outputs: all that bounds depend on beside the data (judge.hpp).
#pragma once

#include <cstdint>

namespace danaus {

// How often samples are rounded on their way to outputs.
struct Roundings {
  int forward = 0;  // from u to y; of short convolutions and state-space models to every output
  int of_rows = 0;  // from dy to du and to gradients of gates, by FFTs
  int of_sums = 0;  // u and dy to dk, by FFTs
  // Samples of a state-space model that are computed at a time; and of the states that parts of a row leave behind.
  int chunk = 1, ends_chunk = 1;
};

inline constexpr std::int64_t kWholeRow = std::int64_t{1} << 48;

struct Promise {
  Roundings roundings = {};
  // Batch rows of a channel that share a transform: 1, 2 of a pair, 0 for all.
  int shared_rows = 1;
  // Whether a row errs in proportion to itself. Otherwise it errs by the mean energy of the rows that share with it,
  // and shows their NaN and infinities.
  bool keeps_rows_apart = true;
  // So many samples from where the definition has NaN or infinity, an output of the same row may have them too.
  std::int64_t nonfinite_reach = kWholeRow;
};

}  // namespace danaus
