// Measured on an H200 with H=768. Radices of at most 16 leave room for many warps. Radix 3 comes last, so that digits
// of a frequency are bits. Up to 2048 points the launch is a chain of latencies, and threads enough for 8 points each,
// or 4 of the smallest, shorten it: 128 points 7.5 -> 3.8 us, 1024 10.2 -> 7.5, 2048 19.0 -> 14.4; at 4096 they lose,
// 17.1 -> 20.2.
#pragma once

#include <array>

#include "kernels/families/spectrum/layout.hpp"

namespace danaus::spectrum {

struct Line {
  int points;
  Tuning tuning;
  bool columns = false;
  constexpr Key key() const { return {points, columns}; }
};

// clang-format off
inline constexpr std::array kLines = std::to_array<Line>({
  //  M      radices          threads
  //                               transforms
  //                                   blocks
  {  128, {  4,  4,  8,  1,   32, 2, 8}},
  {  256, {  4,  8,  8,  1,   64, 1, 8}},
  {  384, {  8, 16,  3,  1,   96, 1, 8}},
  {  512, {  8,  4, 16,  1,  128, 1, 8}},
  {  768, { 16, 16,  3,  1,   96, 1, 8}},
  { 1024, {  8,  8, 16,  1,  128, 1, 8}},
  { 1536, {  8,  8,  8,  3,  192, 1, 8}},
  { 2048, { 16, 16,  8,  1,  256, 1, 4}},
  { 3072, { 16, 16,  4,  3,  192, 1, 5}},
  { 4096, { 16, 16, 16,  1,  256, 1, 4}},
  { 6144, { 16, 16,  8,  3,  384, 1, 2}},
  { 8192, { 16, 16,  8,  4,  512, 1, 2}},
  {12288, { 16, 16, 16,  3,  768, 1, 1}},
  {16384, { 16, 16,  8,  8, 1024, 1, 1}},
  // Outer passes: 16 columns, of which a row of memory's sectors is whole.
  {   64, {  8,  8,  1,  1,    8, 16, 8}, true},
  {  128, {  8, 16,  1,  1,   16, 16, 4}, true},
  {  192, { 16,  4,  3,  1,   16, 16, 4}, true},
  {  256, { 16, 16,  1,  1,   16, 16, 4}, true},
  {  320, {  8,  8,  5,  1,   40, 16, 2}, true},
  {  448, {  8,  8,  7,  1,   56, 16, 1}, true},
});
// clang-format on

}  // namespace danaus::spectrum
