// A case too large to be checked whole: some of its rows, and what they must become.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/convolution/convolution.hpp"
#include "reference/convolution/data.hpp"

namespace danaus {

// The arrays of a case; each is noise() of its own key. u, pregate and postgate begin with input set 0.
enum class BenchArray : std::uint64_t { k, u, pregate, postgate };
std::uint64_t array_key(const Convolution& problem, BenchArray array);

// What noise() is multiplied by to be k: its norm is 1 on average, so that y keeps the scale of u.
float filter_scale(const Convolution& problem);

struct CheckedRows {
  std::vector<std::int64_t> batch, channels;  // every one of the former with every one of the latter
  Convolution problem;                        // the same case with only these rows
  Inputs inputs;                              // of input set 0, rounded as they are on the device
  std::vector<double> y;                      // their convolution by FFTW in double
};

// The first and the last of batch and channels and, with a fixed seed, others between, at most eight of each; batch
// rows come with the partner that a pair gives them.
CheckedRows checked_rows(const Convolution& problem);

}  // namespace danaus
