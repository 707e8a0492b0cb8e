// Registers have the sums, of 8 bytes a point: warps and blocks are as many as leave room for them, and beyond 12K the
// blocks of a cluster share them. On an H200, B=64, H=768, fp16, circular, both gradients take 139 us at 1K, 498 at 4K,
// 1056 at 8K. Where each of several blocks read and transformed whole items for its part of the frequencies, 12K took
// 2714, 16K 2826, 24K 6187 and 32K 9444; what stands here instead is not timed yet.
#pragma once

#include <array>

#include "kernels/families/correlate_exchange/layout.hpp"

namespace danaus::correlate_exchange {

struct Line {
  int radix, columns, shares;
  bool gated;  // takes gates; what does not is for no gates alone
  Tuning tuning;
};

inline constexpr std::array kLines = std::to_array<Line>({
    //                    gated   ring  pairs
    //             shares     warps  blocks items
    /*  1024 */ {1, 16, 1, true, {2, 3, 8, 2, 1}},
    /*  1536 */ {3, 8, 1, true, {1, 3, 4, 2, 1}},
    /*  2048 */ {1, 32, 1, true, {4, 4, 4, 2, 1}},
    /*  3072 */ {3, 16, 1, true, {2, 3, 3, 2, 1}},
    /*  4096 */ {1, 64, 1, true, {8, 4, 2, 2, 1}},
    /*  6144 */ {3, 32, 1, true, {4, 2, 2, 2, 1}},
    /*  8192 */ {1, 128, 1, true, {16, 8, 1, 1, 1}},
    /* 12288 */ {3, 64, 1, true, {8, 2, 1, 2, 1}},
    /* 16384 */ {2, 128, 2, false, {16, 2, 1, 1, 2}},
    /* 16384 */ {2, 128, 2, true, {16, 4, 1, 1, 1}},
    /* 24576 */ {3, 128, 2, true, {8, 2, 1, 1, 1}},
    /* 32768 */ {2, 256, 4, false, {16, 2, 1, 1, 2}},
    /* 32768 */ {2, 256, 4, true, {16, 4, 1, 1, 1}},
});

}  // namespace danaus::correlate_exchange
