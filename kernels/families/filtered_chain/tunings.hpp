// As the chain's with gates. Not measured yet.
#pragma once

#include <array>

#include "kernels/families/chain/tunings.hpp"

namespace danaus::filtered_chain {

// clang-format off
inline constexpr std::array kLines = [] {
  using enum Keep;
  return std::to_array<chain::Line>({
    //   N      r  kinds            worth      warps
    //                                             ring
    //                                                blocks
    //                                                   spectrum
    /*  256 */ {1, kGated,          kChosen,  { 8, 2, 2, registers }},
    /*  512 */ {2, kGated,          kChosen,  { 8, 2, 1, registers }},
    /*  768 */ {3, kGated,          kChosen,  { 8, 2, 1, cache     }},
    /* 1024 */ {4, kGated,          kChosen,  { 8, 2, 1, cache     }},
    /* 1536 */ {6, kGated,          kChosen,  { 4, 2, 1, cache     }},
    /* 2048 */ {8, kGated,          kChosen,  { 4, 2, 1, cache     }},
  });
}();
// clang-format on

}  // namespace danaus::filtered_chain
