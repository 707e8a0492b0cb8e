// Registers have the sums, of 8 bytes a point: warps and blocks are as many as leave room for them. Not measured yet.
#pragma once

#include <array>

#include "kernels/families/correlate_exchange/layout.hpp"

namespace danaus::correlate_exchange {

struct Line {
  int radix, columns;
  Tuning tuning;
};

inline constexpr std::array kLines = std::to_array<Line>({
    //            warps ring blocks pairs
    /* 1024 */ {1, 16, {2, 2, 8, 2}},
    /* 1536 */ {3, 8, {1, 2, 8, 2}},
    /* 2048 */ {1, 32, {4, 2, 4, 2}},
    /* 3072 */ {3, 16, {2, 2, 4, 2}},
    /* 4096 */ {1, 64, {8, 2, 2, 2}},
    /* 6144 */ {3, 32, {4, 2, 2, 2}},
    /* 8192 */ {1, 128, {16, 2, 1, 1}},
});

}  // namespace danaus::correlate_exchange
