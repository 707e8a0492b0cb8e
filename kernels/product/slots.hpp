// The order in which kernels read a filter's spectrum, and which part of a masked one.
#pragma once

#include <cstdint>

namespace danaus {

// Slot of the complex number in half e of registers 2 j (re) and 2 j + 1 (im) of a lane's vector of four. Which
// frequency is there is the kernel's; so one filter kernel serves every layout.
constexpr std::int32_t spectrum_slot(int vector, int lane, int j, int e) {
  return ((vector * 32 + lane) * 2 + j) * 2 + e;
}

// Of a masked spectrum kernels that are compiled for it keep and read live pieces alone, those with a number that is
// not removed: a piece is what one lane has of a vector. Marks behind a kernel's constants say which: the pieces of a
// channel; from kMarksOfVectors on, of each vector, the lanes whose piece is live, a bit each, and the first one's
// number.
inline constexpr int kPieceNumbers = 4, kMarksOfVectors = 4;

// Where shared memory has them packed, bytes of zeros before them, and of the places of a vector's pieces.
inline constexpr int kZeroBytes = 128, kNumbersOfVector = 64;

}  // namespace danaus
