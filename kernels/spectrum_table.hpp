// What the spectrum kernel (kernels/spectrum.hpp) reads beside the filter: where each frequency goes, and its scale.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/geometry.hpp"

namespace danaus {

// R: blocks that share a channel's transform of N points, so that each has a part of it in 32 KB of shared memory.
int spectrum_parts(int size);

// Where the kernel leaves frequency m of a part of `points` points.
int spectrum_place(int m, int points);

// [R, N / 2R] entries of four words, one for each pair of slots: its number in the spectrum; the places of its two
// frequencies in the part, the second in the upper half; what each is multiplied by, as fp32.
// `kept` [N] masks frequencies, 1 kept and 0 removed; empty keeps all. Of a mask that is not symmetric, kept[k] !=
// kept[N - k], the part that leaves a real filter real is applied: a frequency and its mirror get the mean of their
// marks, which gives the real part of what the complex filter gives.
std::vector<std::uint32_t> make_spectrum_table(const Geometry& geometry, std::span<const std::uint8_t> kept);

}  // namespace danaus
