// Registers have the sums, of 8 bytes a point: warps and blocks are as many as leave room for them, and beyond 12K the
// blocks of a cluster share them. On an H200, B=64, H=768, fp16, the sums take, circular and causal: 68 and 119 us at
// 1K, 251 and 453 at 4K, 570 and 1043 at 8K, 1313 and 2373 at 16K, 3608 and 6864 at 32K.
//   items      of clusters two: 16K 2341 -> 2007 us, causal 4594 -> 3897. Of one block's own the room is worth more in
//              the ring: 4K 251 -> 268, 8K 570 -> 634
//   warps      of clusters eight, not sixteen: their registers have room without spills, 16K 2007 -> 1907
//   stores     asynchronous ones to another block take some 2 clocks for 16 bytes, which binds. Lines of a block's own
//              by ordinary stores: 16K 1907 -> 1313, 32K 4484 -> 3608. With ordinary stores to the others too, whose
//              warps say when they have written, they take 1528 and 4293
//   gates      where there is room for two items there is none for gates
//   all        with both gates, samples in the ring until the end: 1K 431 -> 226 us (six blocks on an SM; seven, whose
//              rings hold one item, 240; where samples come from L2 once more 272), causal 481 -> 308, 4K 1552 -> 917
//              (from L2 1134 to 1169; by one block of sixteen warps 1268). L=1000, by threads, 731 -> 596. Without
//              gates there is nothing to gain: 1K 125 -> 129, 4K 494 -> 474, and its own transform of the filter. The
//              other sizes are not measured yet
#pragma once

#include <array>

#include "kernels/families/exchange_gradient/layout.hpp"

namespace danaus::exchange_gradient {

struct Line {
  int radix, columns, shares;
  bool gated;  // takes gates; what does not is for no gates alone
  bool all;    // makes the gradients of rows, too
  Tuning tuning;
};

inline constexpr std::array kLines = std::to_array<Line>({
    //                    gated  all    warps blocks items
    //                 shares               ring  pairs
    /*  1024 */ {1, 16, 1, true, false, {2, 3, 8, 2, 1}},
    /*  1536 */ {3, 8, 1, true, false, {1, 3, 4, 2, 1}},
    /*  2048 */ {1, 32, 1, true, false, {4, 4, 4, 2, 1}},
    /*  3072 */ {3, 16, 1, true, false, {2, 3, 3, 2, 1}},
    /*  4096 */ {1, 64, 1, true, false, {8, 4, 2, 2, 1}},
    /*  6144 */ {3, 32, 1, true, false, {4, 2, 2, 2, 1}},
    /*  8192 */ {1, 128, 1, true, false, {16, 8, 1, 1, 1}},
    /* 12288 */ {3, 64, 1, true, false, {8, 2, 1, 2, 1}},
    /* 16384 */ {2, 128, 2, false, false, {8, 2, 1, 2, 2}},
    /* 16384 */ {2, 128, 2, true, false, {8, 4, 1, 2, 1}},
    /* 24576 */ {3, 128, 2, true, false, {8, 2, 1, 1, 1}},
    /* 32768 */ {2, 256, 4, false, false, {8, 2, 1, 1, 2}},
    /* 32768 */ {2, 256, 4, true, false, {8, 4, 1, 1, 1}},
    // All gradients.
    /*  1024 */ {1, 16, 1, true, true, {2, 6, 6, 2, 1}},
    /*  1536 */ {3, 8, 1, true, true, {1, 4, 4, 2, 1}},
    /*  2048 */ {1, 32, 1, true, true, {4, 4, 4, 2, 1}},
    /*  3072 */ {3, 16, 1, true, true, {2, 3, 3, 2, 1}},
    /*  4096 */ {1, 64, 1, true, true, {8, 4, 2, 2, 1}},
    /*  6144 */ {3, 32, 1, true, true, {4, 2, 2, 2, 1}},
    /*  8192 */ {1, 128, 1, true, true, {16, 8, 1, 1, 1}},
    /* 12288 */ {3, 64, 1, true, true, {8, 2, 1, 2, 1}},
});

}  // namespace danaus::exchange_gradient
