// By a model, none of it measured yet. A sample costs T / 2 + 16 products for the chunk's own convolution and 4 S for
// its states, whatever T is, beside 4 S / T in fp32: so the shortest chunk is best, as long as fp32 work hides behind
// products, and the limit is one of products, 1024 a clock an SM, from S = 40 on and of memory below. Two tiles of rows
// halve the reads of matrices from shared memory, which would take as long as the products; beyond 64 states there are
// registers for one.
#pragma once

#include <array>

#include "kernels/families/kinds.hpp"
#include "kernels/families/state/layout.hpp"

namespace danaus::state {

struct Line {
  int states;  // up to so many; 0 for the kernels that products need beside them
  Worth worth;
  Tuning tuning;
};

inline constexpr std::array kLines = std::to_array<Line>({
    {16, kChosen, {64, 2, 2, 8}},
    {32, kChosen, {64, 2, 2, 6}},
    {64, kChosen, {64, 2, 2, 4}},
    {64, kStudied, {128, 2, 2, 2}},
    {128, kChosen, {64, 1, 4, 2}},
    {256, kChosen, {64, 1, 8, 1}},
    {0, kChosen, {0, 0, 8, 2}},
});

// Of so few samples the recurrence takes less than the matrices of a chunk.
inline constexpr std::int64_t kStepLength = 32;
// A row is cut only into parts of at least so many samples, and of as many bytes of samples as its state has four
// times.
inline constexpr std::int64_t kLeastPart = 512;

}  // namespace danaus::state
