// As the exchange's with gates, with room for a whole gate. Not measured yet.
#pragma once

#include <array>

#include "kernels/families/exchange/tunings.hpp"

namespace danaus::filtered_exchange {

// clang-format off
inline constexpr std::array kLines = [] {
  using enum Keep;
  using enum exchange::Order;
  using enum exchange::Lines;
  using enum Cache;
  return std::to_array<exchange::Line>({
    //    N       r  columns kinds             worth      warps        gates          spectrum           lines          unit      rolled
    //                                                        ring         order                 twiddles              pairs     fetches rows
    //                                                            blocks              stores
    /*  3072 */ {3,  16, kGated,               kChosen,  { 2,  2,  4, 1, in_turn,      1, cache,     cache,     one_group,  2, true,  1, false, normal}},
    /*  4096 */ {2,  32, kPair & kGated,       kChosen,  { 4,  2,  3, 2, in_turn,      1, cache,     shared,    one_group,  4, true,  1, false, normal}},
    /*  4096 */ {2,  32, kCausal & kGated,     kChosen,  { 4,  2,  3, 2, in_turn,      1, shared,    shared,    one_group,  4, true,  1, false, normal}},
    /*  6144 */ {3,  32, kGated,               kChosen,  { 4,  2,  2, 1, in_turn,      1, cache,     shared,    one_group,  2, true,  1, false, normal}},
    /*  8192 */ {2,  64, kPair & kGated,       kChosen,  { 8,  2,  2, 1, in_turn,      1, cache,     shared,    one_group,  4, true,  1, false, stream}},
    /*  8192 */ {2,  64, kCausal & kGated,     kChosen,  { 8,  2,  2, 1, in_turn,      1, shared,    shared,    one_group,  4, true,  1, false, stream}},
    /* 12288 */ {1, 192, kGated,               kChosen,  { 8,  4,  1, 6, slab_by_slab, 3, cache,     registers, one_group,  1, false, 3, false, stream}},
    /* 16384 */ {2, 128, kGated,               kChosen,  { 8,  3,  1, 2, slab_by_slab, 2, cache,     shared,    one_group,  2, false, 2, false, stream}},
    /* 24576 */ {2, 192, kCausal & kGated,     kChosen,  { 8,  4,  1, 3, slab_by_slab, 3, cache,     shared,    held,       1, false, 3, false, stream}},
  });
}();
// clang-format on

}  // namespace danaus::filtered_exchange
