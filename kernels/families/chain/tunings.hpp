// Measured on an H200 with B=64, H=768: the fastest that was found for each kind of each radix. 1024 causal, against
// the exchange 64 x 16: 83.7 and 83.4 us, with gates 115 and 117, bf16 with gates 125 and 138; L=1001 102 and 127.
#pragma once

#include <array>

#include "kernels/families/chain/layout.hpp"
#include "kernels/families/kinds.hpp"

namespace danaus::chain {

struct Line {
  int radix;
  Kinds kinds;  // that have this tuning
  Worth worth;
  Tuning tuning;
};

// clang-format off
inline constexpr std::array kLines = [] {
  using enum Keep;
  return std::to_array<Line>({
    //   N      r  kinds                        worth      warps
    //                                                         ring
    //                                                            blocks
    //                                                               spectrum
    /*  256 */ {1, kPair & kUngated,            kChosen,  { 8, 4, 3, registers }},
    /*  256 */ {1, kGated,                      kChosen,  { 8, 2, 3, registers }},
    /*  256 */ {1, kCausal & kUngated,          kChosen,  {20, 4, 1, registers }},
    /*  512 */ {2, kPair & kUngated,            kChosen,  { 8, 3, 2, registers }},
    /*  512 */ {2, kGated,                      kChosen,  { 8, 2, 2, registers }},
    /*  512 */ {2, kCausal & kUngated,          kChosen,  {20, 3, 1, registers }},
    /*  768 */ {3, kPair & kUngated,            kChosen,  {12, 3, 1, cache     }},
    /*  768 */ {3, kGated,                      kChosen,  {12, 2, 1, cache     }},
    /*  768 */ {3, kCausal & kUngated,          kChosen,  {16, 3, 1, cache     }},
    /* 1024 */ {4, kPair & kUngated,            kStudied, { 8, 3, 1, cache     }},
    /* 1024 */ {4, kPair & kGated,              kStudied, { 8, 2, 1, cache     }},
    /* 1024 */ {4, kCausal & kUngated,          kChosen,  {12, 4, 1, cache     }},
    /* 1024 */ {4, kCausal & kGated,            kChosen,  { 8, 2, 1, cache     }},
    /* 1536 */ {6, kPair & kUngated,            kChosen,  { 8, 3, 1, cache     }},
    /* 1536 */ {6, kPair & kGated,              kChosen,  { 4, 2, 1, cache     }},
    /* 1536 */ {6, kCausal & kUngated,          kChosen,  {12, 2, 1, cache     }},
    /* 1536 */ {6, kCausal & kGated,            kChosen,  { 4, 2, 2, cache     }},
    /* 2048 */ {8, kUngated,                    kStudied, { 8, 3, 1, cache     }},
    /* 2048 */ {8, kGated,                      kStudied, { 4, 2, 1, cache     }},
    // Of masked spectra, as the others. Not measured yet.
    /*  256 */ {1, kSparse,                     kChosen,  { 8, 4, 3, registers }},
    /*  512 */ {2, kSparse,                     kChosen,  { 8, 3, 2, registers }},
  });
}();
// clang-format on

}  // namespace danaus::chain
