// Measured on an H200 with B=64, H=768: the fastest that was found for each kind of each split. The table is data: what
// may be tuned and what it means says Tuning, which of it is legal says Layout.
//
// What won and by how much, where it was not the first that one would try; of f16, and bf16, which is the same but for
// its first and last step, takes the same:
//   spectrum   by shared memory where a channel's items share a block that has the room. bulk: at B=2 it gains 2 to
//              12 %, at B=1 more (4K 38 -> 33 us), but in front of steps B that hold most registers it costs up to 3 %
//              at B=64 (16K 975 -> 1006)
//   twiddles   by L1 where the room of their table is worth more: a seventh slab of 32K (2412 -> 2313 us), a fifth
//              block of 3K (causal, 282 -> 268)
//   lines      held: 16K causal 1552 -> 1514 us; but 8K 474 -> 492. two_groups: 6K causal 546 -> 514; it costs
//              registers, of which radix 3 in eight warps has none to spare (12K causal 1144 -> 1165), and gains
//              nothing where radix 2 or gates wait for memory
//   pairs      up to 16 registers of data in flight, as in step A; 8 where two groups need them
//   order      late: 32K causal 3380 -> 3140 us, 12K 737 -> 720. Some spill then: in turn, 24K takes 1864 us and not
//              1992, 16K 983 and not 1093. Overlapping costs what is neither long nor gated more registers than it is
//              worth
//   fetches    what makes the compiler spill least (32K causal 3226 with rolled units, 3139 without)
//   and units
//   unit       in registers, where 128 of them are enough
//   unaligned  2K by 128 x 16: L=1559 252 -> 214 us, bf16 286 -> 241, but aligned rows of L=2048 164 -> 168
//   rows       long ones would evict the spectra, which a channel's items share, from L2
#pragma once

#include <array>

#include "kernels/families/exchange/layout.hpp"
#include "kernels/families/kinds.hpp"

namespace danaus::exchange {

struct Line {
  int radix, columns;
  Kinds kinds;  // that have this tuning
  Worth worth;
  Tuning tuning;
};

// clang-format off
inline constexpr std::array kLines = [] {
  using enum Keep;
  using enum Order;
  using enum Lines;
  using enum Cache;
  return std::to_array<Line>({
    //    N       r  columns kinds                                    worth      warps        gates                 spectrum           lines          unit      rolled
    //                                                                               ring         order                        twiddles              pairs     fetches rows
    //                                                                                   blocks                     stores
    /*   512 */ {1,   8, kUngated,                                      kStudied, { 1,  2, 16, 0, in_turn,         1, shared,    registers, one_group,  4, true,  1, false, normal}},
    /*   512 */ {1,   8, kGated,                                        kStudied, { 1,  3, 10, 2, overlapped,      1, registers, registers, one_group,  4, true,  1, false, normal}},
    /*  1024 */ {1,  16, kPair & kUngated,                              kChosen,  { 2,  2,  8, 0, in_turn,         1, shared,    registers, one_group,  4, true,  1, false, normal}},
    /*  1024 */ {1,  16, kCausal & kUngated,                            kStudied, { 2,  2,  8, 0, in_turn,         1, shared,    registers, one_group,  4, true,  1, false, normal}},
    /*  1024 */ {1,  16, kPair & kGated,                                kChosen,  { 2,  3,  8, 2, overlapped,      1, shared,    registers, one_group,  4, true,  1, false, normal}},
    /*  1024 */ {1,  16, kCausal & kGated,                              kStudied, { 2,  2,  8, 2, in_turn,         1, shared,    registers, one_group,  4, true,  1, false, normal}},
    /*  1024 */ {2,   8, kUngated,                                      kStudied, { 1,  2, 12, 0, in_turn,         1, cache,     shared,    one_group,  4, true,  1, false, normal}},
    /*  1024 */ {2,   8, kPair & kGated,                                kStudied, { 1,  3,  7, 2, overlapped,      1, cache,     shared,    one_group,  4, true,  1, false, normal}},
    /*  1024 */ {2,   8, kCausal & kGated,                              kStudied, { 1,  3,  7, 2, in_turn,         1, cache,     shared,    one_group,  4, true,  1, false, normal}},
    /*  1536 */ {3,   8, kPair & kUngated,                              kStudied, { 1,  2,  8, 0, in_turn,         1, cache,     shared,    one_group,  2, true,  1, false, normal}},
    /*  1536 */ {3,   8, kPair & kGated,                                kStudied, { 1,  3,  5, 2, overlapped,      1, cache,     shared,    one_group,  2, true,  1, false, normal}},
    /*  1536 */ {3,   8, kCausal & kUngated,                            kStudied, { 1,  2,  8, 0, overlapped_late, 1, cache,     shared,    one_group,  2, true,  1, false, normal}},
    /*  1536 */ {3,   8, kCausal & kGated,                              kStudied, { 1,  3,  5, 2, in_turn,         1, cache,     shared,    one_group,  2, true,  1, false, normal}},
    /*  2048 */ {1,  32, kPair & kUngated,                              kChosen,  { 4,  2,  4, 0, in_turn,         1, shared,    registers, one_group,  4, true,  1, false, normal}},
    /*  2048 */ {1,  32, kPair & kGated,                                kChosen,  { 4,  3,  4, 2, overlapped,      1, shared,    registers, one_group,  4, true,  1, false, normal}},
    /*  2048 */ {1,  32, kCausal & kUngated,                            kChosen,  { 4,  4,  4, 0, in_turn,         1, registers, registers, one_group,  4, true,  1, false, normal}},
    /*  2048 */ {1,  32, kCausal & kGated,                              kChosen,  { 4,  2,  4, 2, in_turn,         1, shared,    registers, one_group,  4, true,  1, false, normal}},
    /*  2048 */ {2,  16, kPair & kUngated,                              kStudied, { 2,  2,  6, 0, in_turn,         1, shared,    shared,    one_group,  4, true,  1, false, normal}},
    /*  2048 */ {2,  16, kCausal & kUngated,                            kUnaligned,{ 2,  2,  6, 0, in_turn,        1, shared,    shared,    one_group,  4, true,  1, false, normal}},
    /*  2048 */ {2,  16, kPair & kGated,                                kStudied, { 2,  3,  4, 2, overlapped,      1, cache,     shared,    one_group,  4, true,  1, false, normal}},
    /*  2048 */ {2,  16, kCausal & kGated,                              kStudied, { 2,  3,  4, 2, in_turn,         1, cache,     shared,    one_group,  4, true,  1, false, normal}},
    /*  2048 */ {4,   8, kPair & kUngated,                              kStudied, { 1,  2,  6, 0, in_turn,         1, cache,     shared,    one_group,  2, true,  1, false, normal}},
    /*  2048 */ {4,   8, kGated,                                        kStudied, { 1,  3,  4, 1, in_turn,         1, cache,     shared,    one_group,  2, true,  1, false, normal}},
    /*  2048 */ {4,   8, kCausal & kUngated,                            kStudied, { 1,  2,  7, 0, overlapped_late, 1, cache,     shared,    one_group,  2, true,  1, false, normal}},
    /*  3072 */ {3,  16, kPair & kUngated,                              kChosen,  { 2,  2,  4, 0, in_turn,         1, bulk,      shared,    two_groups, 2, true,  1, false, normal}},
    /*  3072 */ {3,  16, kPair & kGated,                                kChosen,  { 2,  2,  4, 1, in_turn,         1, shared,    cache,     one_group,  2, true,  1, false, normal}},
    /*  3072 */ {3,  16, kCausal & kUngated,                            kChosen,  { 2,  2,  5, 0, overlapped_late, 1, bulk,      cache,     two_groups, 2, true,  1, false, normal}},
    /*  3072 */ {3,  16, kCausal & kGated,                              kChosen,  { 2,  2,  5, 1, in_turn,         1, shared,    cache,     two_groups, 2, true,  1, false, normal}},
    /*  3072 */ {6,   8, kPair & kUngated,                              kStudied, { 1,  2,  4, 0, in_turn,         1, cache,     shared,    one_group,  2, true,  1, false, normal}},
    /*  3072 */ {6,   8, kGated,                                        kStudied, { 1,  3,  3, 1, in_turn,         1, cache,     shared,    one_group,  2, true,  1, false, normal}},
    /*  3072 */ {6,   8, kCausal & kUngated,                            kStudied, { 1,  4,  4, 0, overlapped_late, 1, cache,     shared,    one_group,  2, true,  1, false, normal}},
    /*  4096 */ {2,  32, kPair & kUngated,                              kChosen,  { 4,  2,  3, 0, in_turn,         1, shared,    shared,    one_group,  4, true,  1, false, normal}},
    /*  4096 */ {2,  32, kPair & kGated,                                kChosen,  { 4,  3,  2, 2, overlapped,      1, shared,    shared,    one_group,  4, true,  1, false, normal}},
    /*  4096 */ {2,  32, kCausal & kUngated,                            kChosen,  { 4,  2,  4, 0, in_turn,         1, shared,    shared,    held,       2, true,  1, false, normal}},
    /*  4096 */ {2,  32, kCausal & kGated,                              kChosen,  { 4,  3,  3, 2, in_turn,         1, shared,    shared,    held,       2, true,  1, false, normal}},
    /*  4096 */ {1,  64, kUngated,                                      kStudied, { 8,  5,  2, 0, in_turn,         1, shared,    registers, one_group,  4, true,  1, false, normal}},
    /*  4096 */ {1,  64, kGated,                                        kStudied, { 8,  3,  2, 2, overlapped,      1, shared,    registers, one_group,  4, true,  1, false, normal}},
    /*  4096 */ {4,  16, kPair & kUngated,                              kStudied, { 2,  2,  4, 0, in_turn,         1, cache,     shared,    two_groups, 2, true,  1, false, normal}},
    /*  4096 */ {4,  16, kPair & kGated,                                kStudied, { 2,  2,  3, 1, in_turn,         1, cache,     shared,    one_group,  2, true,  1, false, normal}},
    /*  4096 */ {4,  16, kCausal & kUngated,                            kStudied, { 2,  3,  4, 0, overlapped_late, 1, cache,     shared,    two_groups, 2, true,  1, false, normal}},
    /*  4096 */ {4,  16, kCausal & kGated,                              kStudied, { 2,  2,  3, 1, in_turn,         1, cache,     shared,    two_groups, 2, true,  1, false, normal}},
    /*  6144 */ {3,  32, kPair & kUngated,                              kChosen,  { 4,  2,  3, 0, in_turn,         1, bulk,      cache,     two_groups, 2, true,  1, false, normal}},
    /*  6144 */ {3,  32, kPair & kGated,                                kChosen,  { 4,  2,  2, 1, in_turn,         1, shared,    shared,    one_group,  2, true,  1, false, normal}},
    /*  6144 */ {3,  32, kCausal & kUngated,                            kChosen,  { 4,  2,  3, 0, overlapped_late, 1, bulk,      shared,    two_groups, 2, true,  1, false, normal}},
    /*  6144 */ {3,  32, kCausal & kGated,                              kChosen,  { 4,  3,  2, 2, in_turn,         1, shared,    shared,    two_groups, 2, true,  1, false, normal}},
    /*  6144 */ {6,  16, kPair & kUngated,                              kStudied, { 2,  2,  3, 0, in_turn,         1, cache,     shared,    two_groups, 2, true,  1, false, normal}},
    /*  6144 */ {6,  16, kPair & kGated,                                kStudied, { 2,  2,  2, 1, in_turn,         1, cache,     shared,    one_group,  2, true,  1, false, normal}},
    /*  6144 */ {6,  16, kCausal & kUngated,                            kStudied, { 2,  3,  3, 0, overlapped_late, 1, cache,     shared,    two_groups, 2, true,  1, false, normal}},
    /*  6144 */ {6,  16, kCausal & kGated,                              kStudied, { 2,  2,  2, 1, in_turn,         1, cache,     shared,    two_groups, 2, true,  1, false, normal}},
    /*  8192 */ {2,  64, kPair & kUngated,                              kChosen,  { 8,  2,  2, 0, in_turn,         1, shared,    shared,    one_group,  4, true,  1, false, stream}},
    /*  8192 */ {2,  64, kPair & kGated,                                kChosen,  { 8,  2,  2, 1, in_turn,         1, cache,     cache,     one_group,  4, true,  1, false, stream}},
    /*  8192 */ {2,  64, kCausal & kUngated,                            kChosen,  { 8,  2,  2, 0, in_turn,         1, bulk,      shared,    held,       2, true,  1, false, stream}},
    /*  8192 */ {2,  64, kCausal & kGated,                              kChosen,  { 8,  2,  2, 1, in_turn,         1, shared,    shared,    held,       2, true,  1, false, stream}},
    /*  8192 */ {1, 128, kUngated,                                      kStudied, { 8,  4,  2, 0, overlapped_late, 1, shared,    shared,    one_group,  2, false, 1, false, stream}},
    /*  8192 */ {1, 128, kGated,                                        kStudied, { 8,  4,  2, 2, in_turn,         1, cache,     shared,    one_group,  2, false, 2, false, stream}},
    /*  8192 */ {4,  32, kPair & kUngated,                              kStudied, { 4,  2,  2, 0, in_turn,         1, shared,    shared,    two_groups, 2, true,  1, false, stream}},
    /*  8192 */ {4,  32, kPair & kGated,                                kStudied, { 4,  2,  2, 1, in_turn,         1, cache,     shared,    one_group,  2, true,  1, false, stream}},
    /*  8192 */ {4,  32, kCausal & kUngated,                            kStudied, { 4,  2,  2, 0, overlapped_late, 1, shared,    shared,    two_groups, 2, true,  1, false, stream}},
    /*  8192 */ {4,  32, kCausal & kGated,                              kStudied, { 4,  2,  2, 1, in_turn,         1, cache,     shared,    two_groups, 2, true,  1, false, stream}},
    /* 12288 */ {1, 192, kUngated,                                      kChosen,  { 8,  6,  2, 0, overlapped_late, 1, cache,     registers, one_group,  1, false, 1, false, stream}},
    /* 12288 */ {1, 192, kPair & kGated,                                kChosen,  { 8,  4,  2, 3, slab_by_slab,    3, cache,     registers, one_group,  1, false, 3, false, stream}},
    /* 12288 */ {1, 192, kCausal & kGated,                              kChosen,  { 8,  6,  2, 3, in_turn,         1, cache,     registers, one_group,  1, false, 3, false, stream}},
    /* 12288 */ {3,  64, kPair & kUngated,                              kStudied, { 8,  3,  1, 0, in_turn,         1, shared,    shared,    two_groups, 2, true,  1, false, stream}},
    /* 12288 */ {3,  64, kGated,                                        kStudied, { 8,  3,  1, 1, in_turn,         1, cache,     shared,    one_group,  2, true,  1, false, stream}},
    /* 12288 */ {3,  64, kCausal & kUngated,                            kStudied, { 8,  3,  1, 0, overlapped_late, 1, shared,    shared,    one_group,  2, true,  1, false, stream}},
    /* 12288 */ {6,  32, kPair & kUngated,                              kStudied, { 4,  2,  1, 0, in_turn,         1, shared,    shared,    two_groups, 2, true,  1, false, stream}},
    /* 12288 */ {6,  32, kPair & kGated,                                kStudied, { 4,  3,  1, 1, in_turn,         1, cache,     shared,    one_group,  2, true,  1, false, stream}},
    /* 12288 */ {6,  32, kCausal & kUngated,                            kStudied, { 4,  2,  1, 0, overlapped_late, 1, shared,    shared,    two_groups, 2, true,  1, false, stream}},
    /* 12288 */ {6,  32, kCausal & kGated,                              kStudied, { 4,  3,  1, 1, in_turn,         1, cache,     shared,    two_groups, 2, true,  1, false, stream}},
    /* 16384 */ {2, 128, kPair & kUngated,                              kStudied, {16,  4,  1, 0, in_turn,         1, shared,    shared,    one_group,  2, false, 2, false, stream}},
    /* 16384 */ {2, 128, kPair & kGated,                                kStudied, { 8,  2,  2, 1, slab_by_slab,    2, cache,     shared,    one_group,  2, false, 2, false, stream}},
    /* 16384 */ {2, 128, kCausal & kUngated,                            kChosen,  {16,  4,  1, 0, overlapped_late, 1, bulk,      shared,    held,       1, false, 1, false, stream}},
    /* 16384 */ {2, 128, kCausal & kGated,                              kChosen,  { 8,  2,  2, 1, slab_by_slab,    2, cache,     shared,    held,       1, false, 2, false, stream}},
    /* 16384 */ {1, 256, kPair & kUngated,                              kStudied, {16, 12,  1, 0, overlapped,      1, cache,     registers, one_group,  1, false, 1, true,  stream}},
    /* 16384 */ {1, 256, kPair & kGated,                                kChosen,  {16,  8,  1, 4, in_turn,         1, cache,     registers, one_group,  1, false, 1, true,  stream}},
    /* 16384 */ {1, 256, kCausal & kUngated,                            kStudied, {16, 12,  1, 0, overlapped_late, 1, cache,     registers, one_group,  1, false, 1, false, stream}},
    /* 16384 */ {1, 256, kCausal & kGated,                              kStudied, {16,  8,  1, 4, in_turn,         1, cache,     registers, one_group,  1, false, 1, true,  stream}},
    /* 16384 */ {4,  64, kPair & kUngated,                              kChosen,  { 8,  2,  1, 0, in_turn,         1, shared,    shared,    two_groups, 2, true,  1, false, stream}},
    /* 16384 */ {4,  64, kPair & kGated,                                kStudied, { 8,  2,  1, 1, in_turn,         1, cache,     shared,    one_group,  2, true,  1, false, stream}},
    /* 16384 */ {4,  64, kCausal & kUngated,                            kStudied, { 8,  2,  1, 0, overlapped_late, 1, shared,    shared,    held,       2, true,  1, false, stream}},
    /* 16384 */ {4,  64, kCausal & kGated,                              kStudied, { 8,  2,  1, 1, in_turn,         1, cache,     shared,    held,       2, true,  1, false, stream}},
    /* 24576 */ {2, 192, kPair & kUngated,                              kStudied, { 8,  6,  1, 0, in_turn,         1, cache,     shared,    one_group,  1, false, 3, false, stream}},
    /* 24576 */ {2, 192, kPair & kGated,                                kChosen,  { 8,  4,  1, 2, slab_by_slab,    3, cache,     shared,    one_group,  1, false, 3, false, stream}},
    /* 24576 */ {2, 192, kCausal & kUngated,                            kStudied, { 8,  7,  1, 0, overlapped_late, 1, cache,     shared,    held,       1, false, 1, false, stream}},
    /* 24576 */ {2, 192, kCausal & kGated,                              kChosen,  { 8,  5,  1, 3, slab_by_slab,    3, cache,     shared,    held,       1, false, 3, false, stream}},
    /* 24576 */ {1, 384, kUngated,                                      kStudied, { 8, 12,  1, 0, in_turn,         1, cache,     shared,    one_group,  1, false, 2, false, stream}},
    /* 24576 */ {1, 384, kGated,                                        kStudied, { 8,  8,  1, 4, slab_by_slab,    6, cache,     shared,    one_group,  1, false, 2, false, stream}},
    /* 24576 */ {3, 128, kPair & kUngated,                              kChosen,  {16,  4,  1, 0, overlapped_late, 1, cache,     shared,    one_group,  1, false, 1, false, stream}},
    /* 24576 */ {3, 128, kGated,                                        kStudied, { 8,  3,  1, 1, slab_by_slab,    2, cache,     shared,    one_group,  1, false, 2, false, stream}},
    /* 24576 */ {3, 128, kCausal & kUngated,                            kChosen,  {16,  4,  1, 0, overlapped_late, 1, cache,     cache,     one_group,  1, false, 1, false, stream}},
    /* 24576 */ {6,  64, kPair & kUngated,                              kStudied, { 8,  2,  1, 0, in_turn,         1, cache,     shared,    two_groups, 2, true,  1, false, stream}},
    /* 24576 */ {6,  64, kCausal & kUngated,                            kStudied, { 8,  2,  1, 0, overlapped_late, 1, cache,     shared,    one_group,  2, true,  1, false, stream}},
    /* 32768 */ {2, 256, kPair & kUngated,                              kChosen,  {16,  7,  1, 0, slab_by_slab,    2, cache,     cache,     held,       1, false, 1, true,  stream}},
    /* 32768 */ {2, 256, kPair & kGated,                                kChosen,  {16,  5,  1, 2, slab_by_slab,    2, cache,     cache,     held,       1, false, 1, true,  stream}},
    /* 32768 */ {2, 256, kCausal & kUngated,                            kChosen,  {16,  8,  1, 0, overlapped_late, 1, cache,     cache,     held,       1, false, 1, false, stream}},
    /* 32768 */ {2, 256, kCausal & kGated,                              kChosen,  {16,  6,  1, 4, slab_by_slab,    2, cache,     cache,     held,       1, false, 1, true,  stream}},
    /* 32768 */ {4, 128, kUngated,                                      kStudied, { 8,  3,  1, 0, slab_by_slab,    2, cache,     cache,     one_group,  1, false, 2, false, stream}},
    /* 32768 */ {4, 128, kGated,                                        kStudied, { 8,  2,  1, 1, slab_by_slab,    2, cache,     cache,     one_group,  1, false, 2, false, stream}},
    /* 32768 */ {1, 512, kUngated,                                      kStudied, { 8, 14,  1, 0, slab_by_slab,    8, cache,     cache,     one_group,  1, false, 2, false, stream}},
    /* 32768 */ {1, 512, kGated,                                        kStudied, { 8, 10,  1, 4, slab_by_slab,    8, cache,     cache,     one_group,  1, false, 2, false, stream}},
    // Of lone rows, each of which is a channel's only one.
    /*  2048 */ {1,  32, kLone,                                         kChosen,  { 4,  2,  4, 0, in_turn,         1, bulk,      registers, one_group,  4, true,  1, false, normal}},
    /*  3072 */ {3,  16, kLone,                                         kChosen,  { 2,  2,  4, 0, in_turn,         1, bulk,      shared,    one_group,  4, true,  1, false, normal}},
    /*  4096 */ {2,  32, kLone,                                         kChosen,  { 4,  2,  4, 0, in_turn,         1, bulk,      shared,    held,       2, true,  1, false, normal}},
    /*  6144 */ {3,  32, kLone,                                         kChosen,  { 4,  2,  3, 0, in_turn,         1, bulk,      shared,    one_group,  4, true,  1, false, normal}},
    /*  8192 */ {2,  64, kLone,                                         kChosen,  { 8,  2,  2, 0, in_turn,         1, bulk,      shared,    held,       2, true,  1, false, stream}},
    /* 12288 */ {3,  64, kLone,                                         kChosen,  { 8,  3,  1, 0, in_turn,         1, bulk,      shared,    one_group,  4, true,  1, false, stream}},
    /* 16384 */ {2, 128, kLone,                                         kChosen,  {16,  4,  1, 0, in_turn,         1, bulk,      shared,    held,       1, false, 1, false, stream}},
    /* 24576 */ {3, 128, kLone,                                         kChosen,  { 8,  4,  1, 0, in_turn,         1, bulk,      shared,    one_group,  2, false, 1, false, stream}},
    /* 32768 */ {2, 256, kLone,                                         kChosen,  {16,  8,  1, 0, overlapped_late, 1, cache,     cache,     held,       1, false, 1, false, stream}},
    // Of masked spectra, where that pays: B=1, 4K 33.4 -> 31.4 us with 19 % of the pieces live, 31.0 with dead blocks, 8K
    // 61.5 -> 59.7 and 57.3, 32K 286 -> 275; B=8, 4K 34.6 -> 33.2, 8K 71.2 -> 67.2; B=64, 1 %. With more of them pairs lose
    // (8K, 47 %: 473 -> 480). Pairs of 1K and 2K lose always (B=64 56.8 -> 58.0, 110.5 -> 112.3), and so does 16K (B=1
    // 128 -> 132, B=64 950 -> 1099): dense kernels have these masks. bf16 is not measured.
    /*  2048 */ {1,  32, kLoneSparse,                                   kChosen,  { 4,  2,  4, 0, in_turn,         1, bulk,      registers, one_group,  4, true,  1, false, normal, 25}},
    /*  4096 */ {2,  32, kSparse,                                       kChosen,  { 4,  2,  3, 0, in_turn,         1, bulk,      shared,    one_group,  4, true,  1, false, normal, 25}},
    /*  4096 */ {2,  32, kLoneSparse,                                   kChosen,  { 4,  2,  4, 0, in_turn,         1, bulk,      shared,    held,       2, true,  1, false, normal, 50}},
    /*  8192 */ {2,  64, kSparse,                                       kChosen,  { 8,  2,  2, 0, in_turn,         1, bulk,      shared,    one_group,  4, true,  1, false, stream, 25}},
    /*  8192 */ {2,  64, kLoneSparse,                                   kChosen,  { 8,  2,  2, 0, in_turn,         1, bulk,      shared,    held,       2, true,  1, false, stream, 50}},
    /* 32768 */ {2, 256, kLoneSparse,                                   kChosen,  {16,  8,  1, 0, overlapped_late, 1, bulk,      cache,     held,       1, false, 1, false, stream, 30}},
  });
}();
// clang-format on

}  // namespace danaus::exchange
