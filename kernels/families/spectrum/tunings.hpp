// The radices of each size: at most 16, which leaves room for many warps. Radix 3 comes last, so that digits of a
// frequency are bits.
#pragma once

#include <array>

#include "kernels/families/spectrum/layout.hpp"

namespace danaus::spectrum {

struct Line {
  int points;
  Tuning tuning;
};

// clang-format off
inline constexpr std::array kLines = std::to_array<Line>({
  //  M      radices          threads
  //                               transforms
  //                                   blocks
  {  128, { 16,  8,  1,  1,    8, 4, 8}},
  {  256, { 16, 16,  1,  1,   16, 4, 8}},
  {  384, { 16,  8,  3,  1,   24, 4, 8}},
  {  512, { 16,  8,  4,  1,   32, 2, 8}},
  {  768, { 16, 16,  3,  1,   48, 2, 8}},
  { 1024, { 16,  8,  8,  1,   64, 1, 8}},
  { 1536, { 16, 16,  2,  3,   96, 1, 8}},
  { 2048, { 16, 16,  8,  1,  128, 1, 8}},
  { 3072, { 16, 16,  4,  3,  192, 1, 5}},
  { 4096, { 16, 16, 16,  1,  256, 1, 4}},
  { 6144, { 16, 16,  8,  3,  384, 1, 2}},
  { 8192, { 16, 16,  8,  4,  512, 1, 2}},
  {12288, { 16, 16, 16,  3,  768, 1, 1}},
  {16384, { 16, 16,  8,  8, 1024, 1, 1}},
});
// clang-format on

}  // namespace danaus::spectrum
