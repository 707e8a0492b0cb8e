// Which energies (sums of squares) a transform in f16 has room for. Every number inside is the product of the item's
// vector z and a vector of norm c, the gains of the stages so far. So |number| <= c |z| (Cauchy and Schwarz).
#pragma once

#include "reference/basics.hpp"

namespace danaus::dynamic_range {

// |z|^2 stays below. Where a stored spectrum M exceeds 1, |z| M takes the place of |z|.
inline constexpr int kMostExponent = 26;
inline constexpr float kMostEnergy = 1 << kMostExponent;
// The same of a spectrum that has a factor: of f16 samples it is below 1, of bf16 below 2.
template <Dtype T>
inline constexpr int kMostExponentOfFactor = T == Dtype::f16 ? kMostExponent : kMostExponent - 2;
// What c may be: c |z| and its roundings stay below 65504.
inline constexpr double kMostGain = 7.8;

// Of a pair's energies. The quieter row errs as a row of the pair's mean energy: sqrt((1 + 8) / 2) times its own error,
// which is 0.44 of the bound at most. bf16 rounds y so coarsely that its bound leaves more room.
template <Dtype T>
inline constexpr float kMostRatio = T == Dtype::f16 ? 8 : 16;

// Mean square of f16 samples below which subnormal numbers inside cost more than 0.04 of the bound.
inline constexpr float kLeastSquare = 0x1p-20f;
// Where one kernel makes all gradients, and of dk: 0.3 of the bound, since dy is often that small.
inline constexpr float kLeastSquareOfGradients = 0x1p-26f;

// A filter without a power of two of its own: the least energy of its taps, the greatest sum of their magnitudes.
inline constexpr float kLeastTapEnergy = 0x1p-20f, kMostTapSum = 0x1p14f;

}  // namespace danaus::dynamic_range
